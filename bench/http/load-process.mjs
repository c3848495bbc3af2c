// Generates load in a separate process. Each message is { url, callers: [{ cookie, bodies? }], requests }. Each connection
// belongs to one caller. With bodies, it posts them in order.
import autocannon from 'autocannon'
import { CONNECTIONS } from './child-process.mjs'

process.on('message', async ({ url, callers, requests }) => {
  let connection = 0
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    amount: requests,
    // A run ends with a sample. The default of a second takes longer than a round.
    sampleInt: 10,
    setupClient(client) {
      const { cookie, bodies } = callers[connection++ % callers.length]
      client.setRequests(bodies ? bodies.map((body) => post(body, cookie)) : [{ headers: { cookie } }])
    },
  })
  const { errors, non2xx, start, finish } = result
  process.send({ failed: errors + non2xx, requests: result['2xx'], milliseconds: finish - start })
})
process.on('disconnect', () => process.exit())

function post(body, cookie) {
  const headers = { cookie, 'content-type': 'application/json' }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}
