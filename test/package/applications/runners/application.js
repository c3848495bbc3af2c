// An application as it was written before ES modules. It loads every entry that needs no other package.
const { createS3Server, db, memoryStorage } = require('@svc/db')
const { memoryAdapter } = require('@svc/db/memory')

for (const name of [
  'adapter',
  'client',
  'disk',
  'express',
  'fastify',
  'hono',
  'koa',
  'mongo',
  'postgres',
  'redis',
]) {
  require(`@svc/db/${name}`)
}

exports.createApplication = () =>
  createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: (request) => request.headers.get('x-user') })],
  })
