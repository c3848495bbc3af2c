// Creates a server, and uploads a file to where it is mounted.
import { strict as assert } from 'node:assert'
import { createS3Client, dbClient } from '@svc/db/client'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

export const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ann' })],
})

/** `origin` may end with a prefix. */
export async function upload(origin) {
  const { api } = createS3Client({ baseURL: origin, plugins: [dbClient()] })
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  assert.equal(await (await fetch((await api.download({ key })).url)).text(), 'hello')
  await api.delete({ key })
  assert.equal((await fetch(`${origin}/other`)).status, 404)
  console.log('served')
  process.exit()
}
