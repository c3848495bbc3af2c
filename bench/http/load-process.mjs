// Generates load in a separate process. Each message is { url, cookie, requests }.
import autocannon from 'autocannon'

const CONNECTIONS = 16

process.on('message', async ({ url, cookie, requests }) => {
  const result = await autocannon({ url, connections: CONNECTIONS, headers: { cookie }, amount: requests })
  const { errors, non2xx, start, finish } = result
  process.send({ failed: errors + non2xx, requests: result['2xx'], milliseconds: finish - start })
})
process.on('disconnect', () => process.exit())
