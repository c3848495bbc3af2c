import { expect, it } from 'vitest'
import { describeInEngines } from './engines/engines.js'
import { openEngineSession, upload } from './engines/session.js'

await describeInEngines('a bucket that refuses a body at once, and closes the connection', (engine) => {
  it.for([
    [413, 8_000_000],
    [403, 8_000_000],
    [413, 16 * 1024 ** 2 + 1000],
  ] as const)('is asked about by the third try: status %i, %i bytes', async ([status, size]) => {
    const { server, tab } = await openEngineSession(engine())
    const lines: string[] = []
    server.lie((line, _call, res, serve) => {
      lines.push(line)
      if (line !== 'PUT') return serve()
      res.status(status).set('connection', 'close').send('<Error/>')
      res.on('finish', () => res.req.socket.destroy())
    })
    const outcome = await upload(tab, { size })
    console.log(outcome, lines.filter((line) => line !== 'OPTIONS').join(', '))
    expect(['NETWORK_ERROR', 'UNEXPECTED_RESPONSE']).toContain(outcome.result)
  })
})
