import type { StorageObject, StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { uploadTo } from '../store-programs.js'

interface ExportProgram {
  readonly activeObjects: (store: StorageObjectStore) => AsyncIterable<StorageObject>
  readonly lineOf: (object: StorageObject) => string
}

interface Line extends Omit<Parameters<StorageObjectStore['adopt']>[0], 'createdAt' | 'storageKey'> {
  readonly file: string
  readonly createdAt: string
}

/** Exports the records of a store with more than a page of scopes and of objects, and adopts them in another one. */
const exportsAll: SnippetCheck = async (program) => {
  const { activeObjects, lineOf } = await run<ExportProgram>(program)
  const store = memoryAdapter()
  const adopt = (scope: string, key: string) =>
    store.adopt({
      ...{ scope, bucket: 'uploads', key, storageKey: `${key}~1`, size: 3, eTag: '"e"', route: 'docs' },
      ...{ filename: 'ü.txt', contentType: 'text/plain', metadata: { color: 'red' } },
      createdAt: new Date('2015-01-01T00:00:00.001Z'),
    })
  for (let index = 0; index < 1001; index++) {
    await adopt('user:1', `one/${index}`)
    await adopt(`user:${index}`, `each/${index}`)
  }
  await uploadTo(store, 'user:own')
  const pending = { scope: 'user:1', bucket: 'uploads', declaredSize: 1 }
  await store.reserve({ ...pending, key: 'pending', expiresAt: new Date(Date.now() + 60_000) })
  await store.remove({ bucket: 'uploads', key: 'each/5' })

  const copy = memoryAdapter()
  let lines = 0
  for await (const object of activeObjects(store)) {
    const { file, createdAt, ...fields } = JSON.parse(lineOf(object)) as Line
    await copy.adopt({ ...fields, storageKey: file, createdAt: new Date(createdAt) })
    lines++
  }
  expect(lines).toBe(1001 + 1000 + 1)
  for (const key of ['one/0', 'one/1000', 'each/1000']) {
    const at = { bucket: 'uploads', key }
    const [original, copied] = [await store.findActive(at), await copy.findActive(at)]
    const ofCopy = { id: copied!.id, attemptId: copied!.attemptId, updatedAt: copied!.updatedAt }
    expect(copied).toEqual({ ...original, ...ofCopy, confirmedAt: copied!.confirmedAt })
  }
  // Bytes without a storage key have the name of their key.
  expect(await copy.findActive({ bucket: 'uploads', key: 'user:own/a.txt' })).toMatchObject({
    ...{ scope: 'user:own', storageKey: 'user:own/a.txt', size: 5 },
  })
}

export const leavingChecks: SnippetChecks = {
  'docs/leaving.md#export-objects.ts': exportsAll,
}
