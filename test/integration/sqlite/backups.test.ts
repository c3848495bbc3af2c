import { checkStorage, createS3Server, db, memoryStorage, type StorageObjectStore } from '@svc/db'
import { afterAll, expect, it } from 'vitest'
import { databaseFolder } from './files.js'

const folder = databaseFolder()
afterAll(() => folder.drop())

// docs/sqlite.md promises this.
it('a backup by VACUUM INTO, taken before that of the bucket, lacks what came later and finds it unrecorded', async () => {
  const path = await folder.migratedPath(false)
  const storage = memoryStorage()
  const serverOver = (client: StorageObjectStore) =>
    createS3Server({ storage, bucket: 'files', plugins: [db({ client, resolveScope: () => 'ann' })] })
  const { files } = serverOver(folder.open(path))
  const put = (key: string) => files.put({ scope: 'ann', key, body: key })
  for (const key of ['kept', 'removed later']) await put(key)

  const backup = folder.newPath()
  folder.handle(path).prepare('VACUUM INTO ?').run(backup)
  const { storageKey } = await put('uploaded later')
  const removed = await files.delete({ scope: 'ann', key: 'removed later' })

  const restored = folder.open(backup)
  expect(await restored.migrate()).toEqual({ from: 1, to: 1 })
  expect(await restored.verify()).toEqual([])
  expect(await restored.checkUsage()).toEqual([])
  const found: string[][] = []
  await checkStorage(serverOver(restored), {
    olderThanSeconds: 0,
    onDifference: ({ kind, storageKey }) => void found.push([kind, storageKey]),
  })
  expect(found.sort()).toEqual([
    ['missing', removed?.storageKey],
    ['unrecorded', storageKey],
  ])
})
