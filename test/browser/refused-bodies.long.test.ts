import { expect, it } from 'vitest'
import { describeInEngines } from './engines/engines.js'
import { openEngineSession, upload } from './engines/session.js'

const ONE_PUT = { size: 8_000_000, ask: 'POST /upload/confirm', puts: 1 }

await describeInEngines('a bucket that refuses a body at once, and closes the connection', (engine) => {
  it.for([
    { status: 413, ...ONE_PUT },
    { status: 403, ...ONE_PUT },
  ])(
    'has the server asked before the third try where its response is lost: status $status, $size bytes',
    async ({ status, size, ask, puts }, test) => {
      const { server, tab } = await openEngineSession(engine(), test)
      const lines: string[] = []
      server.lie((line, _call, res, serve) => {
        lines.push(line)
        if (line !== 'PUT') return serve()
        res.status(status).set('connection', 'close').send('<Error/>')
        res.on('finish', () => res.req.socket.destroy())
      })
      const { result } = await upload(tab, { size })
      // Which one depends on whether the response comes through before the connection is reset.
      expect(['NETWORK_ERROR', 'UNEXPECTED_RESPONSE']).toContain(result)
      const before = lines.slice(0, lines.indexOf(ask) + 1 || undefined).filter((line) => line === 'PUT')
      // Firefox repeats each request once whose connection is reset.
      if (result === 'NETWORK_ERROR') expect(before.length).toBeLessThanOrEqual(2 * 2 * puts)
    },
  )
})
