import { once } from 'node:events'
import { expect, describe, it } from 'vitest'
import type { Handler } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { occurrence } from '../bindings/occurrence.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { versions } from './versions.js'

// Middleware of Express may wait for `res.end`, as express-session does to save; that of Koa waits for `next()`.
describe.each(versions)('in $name', ({ express }) => {
  it('a response is ended although its client has left', async () => {
    const called = occurrence<Request>()
    const handler: Handler = async (request) => {
      called.happen(request)
      await once(request.signal, 'abort')
      return new Response('for nobody')
    }
    const ended = occurrence<boolean>()
    const app = express().use((_req, res, next) => {
      const end = res.end.bind(res) as () => typeof res
      res.end = () => {
        ended.happen(res.socket?.destroyed !== false)
        return end()
      }
      next()
    })
    const { port } = await listen(app.use(expressBinding({ basePath: '/api/s3', handler })))
    const connection = await RawConnection.open(port)
    connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n')
    await called.happened

    connection.socket.destroy()

    expect(await ended.happened).toBe(true)
  })
})
