import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { postgresSchema } from '@svc/db/postgres'
import { expect, it } from 'vitest'

const { handler } = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
})

it('stores a file and returns it', async () => {
  const { api } = createS3Client({
    baseURL: 'http://app.test',
    plugins: [dbClient()],
    fetch: (input, init) => handler(new Request(input, init)),
  })
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))

  expect(await api.db.listObjects()).toMatchObject({ objects: [{ filename: 'hello.txt', size: 5 }] })
  const { url } = await api.download({ key })
  expect(await (await handler(new Request(url))).text()).toBe('hello')
})

it('finds the entry of the database', () => {
  expect(postgresSchema()).toContain('CREATE TABLE')
})
