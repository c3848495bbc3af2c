import { memoryStorage } from '@svc/db'
import { expect, it } from 'vitest'
import { bucketService, HELLO } from '../object-storage-contract/bucket-service.js'

it('memoryStorage shares neither objects nor URLs between instances', async () => {
  const before = bucketService({ open: memoryStorage })
  await before.put(before.upload, HELLO)
  const { url } = await before.storage.signDownload(before.download)

  const after = bucketService({ open: memoryStorage })
  expect(await after.storage.head(after.upload)).toBeNull()
  expect((await after.handler(new Request(url))).status).toBe(403)
})
