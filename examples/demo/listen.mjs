import { once } from 'node:events'
import { createServer } from 'node:http'

const USUAL_PORT = 3000

/** In milliseconds. Uploads come through this server, and take longer than the five minutes of Node.js on a slow line. */
const requestTimeout = 3_600_000

/** Starts a server at a port, or at the first free one from 3000. @throws Error that names the variable if the port is in use. */
export async function listen(app, { host, port }) {
  for (let candidate = port ?? USUAL_PORT; ; candidate++) {
    const server = createServer({ requestTimeout }, app).listen(candidate, host)
    try {
      await once(server, 'listening')
      return server
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error
      if (port !== null) {
        throw new Error(`PORT ${port} is in use. Leave it out for the next free port.`, { cause: error })
      }
    }
  }
}
