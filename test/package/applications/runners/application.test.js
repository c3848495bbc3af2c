// For jest and mocha, which both have `describe` and `it` as globals.
const assert = require('assert')
const { createS3Client, dbClient } = require('@svc/db/client')
const { postgresSchema } = require('@svc/db/postgres')
const { createApplication } = require('./application.js')

describe('an application', () => {
  it('stores a file and returns it', async () => {
    const { handler } = createApplication()
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

  it('finds the entry of the database', () => {
    assert.match(postgresSchema(), /CREATE TABLE/)
  })
})
