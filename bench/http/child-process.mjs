import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The open connections of the load. */
export const CONNECTIONS = 16

/** Starts a process that replies to one message at a time. It exits with this one. */
export function startChild(file, args = [], execArgv = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv })
  const ended = once(child, 'exit')
  async function reply() {
    const died = ended.then(([code]) => Promise.reject(new Error(`${file} exited with code ${code}.`)))
    const [message] = await Promise.race([once(child, 'message'), died])
    return message
  }
  return {
    reply,
    request(message) {
      child.send(message)
      return reply()
    },
    async stop() {
      child.disconnect()
      await ended
    },
  }
}

/**
 * Starts a server process. Without the connection of a gateway, a stub takes the place of the bucket. `signIn` returns the session
 * cookie of an owner.
 */
export async function startServer(framework, connection, gateway = null) {
  const args = [framework, JSON.stringify(connection), JSON.stringify(gateway)]
  const child = startChild('server-process.mjs', args, ['--expose-gc'])
  const { port } = await child.reply()
  const origin = `http://127.0.0.1:${port}`
  return {
    ...child,
    origin,
    async signIn(scope) {
      const { headers } = await fetch(`${origin}/sign-in?scope=${encodeURIComponent(scope)}`)
      const cookies = headers.getSetCookie().map((line) => line.split(';')[0])
      return cookies.join('; ')
    },
  }
}
