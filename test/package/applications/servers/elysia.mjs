import { Elysia } from 'elysia'
import { s3 } from './s3.mjs'

const { HOST: hostname, PORT: port } = process.env
new Elysia()
  // A hook that reads the body has Elysia parse it, unless a route says otherwise.
  .onTransform(({ body }) => void body)
  .all('/api/s3/*', ({ request }) => s3.handler(request), { parse: 'none' })
  .listen({ hostname, port })
