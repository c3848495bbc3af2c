// Serves the Fetch handler in Bun or in Deno, and prints its URL.
import worker from './worker.mjs'

const { Bun, Deno } = globalThis
const address = { hostname: '127.0.0.1', port: 0 }
const { port } = Bun
  ? Bun.serve({ ...address, fetch: worker.fetch })
  : Deno.serve({ ...address, onListen() {} }, (request) => worker.fetch(request)).addr
console.log(`http://127.0.0.1:${port}`)
