/** Public sub-path → its source. The one list behind the build and the tests' aliases; `exports` in package.json and `paths` in tsconfig.json name the same. */
export const entries = {
  index: 'src/index.ts',
  adapter: 'src/adapter.ts',
  memory: 'src/adapters/memory/index.ts',
  postgres: 'src/adapters/postgres/index.ts',
  mongo: 'src/adapters/mongo/index.ts',
  disk: 'src/storage/disk/disk-storage.ts',
  s3: 'src/storage/s3/s3-storage.ts',
  redis: 'src/adapters/redis/index.ts',
  express: 'src/bindings/express/index.ts',
  koa: 'src/bindings/koa/index.ts',
  fastify: 'src/bindings/fastify/index.ts',
  hono: 'src/bindings/hono/index.ts',
  client: 'src/client/index.ts',
  conformance: 'test/conformance/index.ts',
}
