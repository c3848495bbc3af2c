/** Public sub-path → its source. The one list behind the build and the tests' aliases; `exports` in package.json and `paths` in tsconfig.json name the same. */
export const entries = {
  index: 'src/index.ts',
  adapter: 'src/adapter.ts',
  memory: 'src/adapters/memory/index.ts',
  postgres: 'src/adapters/postgres/index.ts',
  mongo: 'src/adapters/mongo/index.ts',
  sqlite: 'src/adapters/sqlite/index.ts',
  disk: 'src/storage/disk/disk-storage.ts',
  s3: 'src/storage/s3/s3-storage.ts',
  redis: 'src/adapters/redis/index.ts',
  express: 'src/bindings/express/express-binding.ts',
  koa: 'src/bindings/koa/koa-binding.ts',
  fastify: 'src/bindings/fastify/fastify-binding.ts',
  hono: 'src/bindings/hono/hono-binding.ts',
  client: 'src/client/index.ts',
  uploads: 'src/client/uploads/index.ts',
  conformance: 'test/conformance/index.ts',
}
