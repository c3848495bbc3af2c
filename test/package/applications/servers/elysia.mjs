import { Elysia } from 'elysia'
import { s3 } from './s3.mjs'

const { HOST: hostname, PORT: port } = process.env
// Elysia parses bodies in front of its handlers by default.
new Elysia()
  .all('/api/s3/*', ({ request }) => s3.handler(request), { parse: 'none' })
  .listen({ hostname, port })
