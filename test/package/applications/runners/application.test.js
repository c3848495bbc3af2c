// An application as it was written before ES modules, for jest and mocha: both have `describe` and `it` as globals.
const assert = require('assert')
const fs = require('fs')
const os = require('os')
const path = require('path')
const vm = require('vm')
const { createS3Server, db, memoryStorage } = require('@svc/db')
const { createS3Client, dbClient } = require('@svc/db/client')
const { diskStorage } = require('@svc/db/disk')
const { memoryAdapter } = require('@svc/db/memory')

describe('an application', () => {
  it('stores a file and returns it', async () => {
    const { handler } = createS3Server({
      storage: memoryStorage(),
      bucket: 'files',
      plugins: [db({ client: memoryAdapter(), resolveScope: (request) => request.headers.get('x-user') })],
    })
    const { api } = createS3Client({
      baseURL: 'http://app.test',
      plugins: [dbClient()],
      headers: { 'x-user': 'ann' },
      fetch: (input, init) => handler(new Request(input, init)),
    })
    const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))

    const { objects } = await api.db.listObjects()
    assert.deepStrictEqual(
      objects.map(({ filename, size }) => ({ filename, size })),
      [{ filename: 'hello.txt', size: 5 }],
    )
    const { url } = await api.download({ key })
    const response = await handler(new Request(url))
    assert.strictEqual(await response.text(), 'hello')
  })

  it('uses dates and errors of Node.js, which are of another realm in jest', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-db-'))
    const client = memoryAdapter()
    const { files } = createS3Server({
      storage: diskStorage({ directory }),
      bucket: 'files',
      plugins: [db({ client, resolveScope: () => 'ann' })],
    })
    try {
      const { bucket } = await files.put({ scope: 'ann', filename: 'hello.txt', body: 'hello' })
      const expiresAt = vm.runInNewContext("new Date('2030-01-01')")
      await client.reserve({ scope: 'ann', bucket, key: 'a', declaredSize: 5, expiresAt })
    } finally {
      fs.rmSync(directory, { recursive: true, force: true })
    }
  })

  it('loads every other entry that needs no package', () => {
    for (const name of ['adapter', 'express', 'fastify', 'hono', 'koa', 'mongo', 'redis']) {
      require(`@svc/db/${name}`)
    }
    assert.match(require('@svc/db/postgres').postgresSchema(), /CREATE TABLE/)
  })
})
