import { once } from 'node:events'
import { expect, describe, it } from 'vitest'
import type { Handler } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { deferred } from '../bindings/deferred.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { versions } from './versions.js'

// Express middleware may wait for `res.end`, as express-session does to save. Koa middleware waits for `next()` instead.
describe.each(versions)('a response in $name', ({ express }) => {
  it('is ended even if the client has disconnected', async () => {
    const called = deferred<Request>()
    const handler: Handler = async (request) => {
      called.resolve(request)
      await once(request.signal, 'abort')
      return new Response('unread')
    }
    const ended = deferred<boolean>()
    const app = express().use((_req, res, next) => {
      const end = res.end.bind(res) as () => typeof res
      res.end = () => {
        ended.resolve(res.socket?.destroyed !== false)
        return end()
      }
      next()
    })
    const { port } = await listen(app.use(expressBinding({ basePath: '/api/s3', handler })))
    const connection = await RawConnection.open(port)
    connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n')
    await called.promise

    connection.socket.destroy()

    expect(await ended.promise).toBe(true)
  })
})
