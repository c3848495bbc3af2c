import { expect, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { run, type SnippetCheck } from './programs.js'

/** Reserves and confirms one object, on any database. */
export async function uploadTo(store: StorageObjectStore, scope: string): Promise<void> {
  const at = { bucket: 'uploads', key: `${scope}/a.txt` }
  const expiresAt = new Date(Date.now() + 60_000)
  const { id } = await store.reserve({ ...at, scope, declaredSize: 5, expiresAt })
  await store.confirm({ ...at, id, size: 5 })
  expect(await store.getScopeUsage(scope)).toMatchObject({ bytes: 5, files: 1, reservedFiles: 0 })
}

/** Expects a program to migrate `what`, to log that, and to end. */
export const migratesAndEnds =
  (what: string): SnippetCheck =>
  async (program) => {
    const log = vi.spyOn(console, 'log').mockReturnValue()
    await run(program)
    const sentence = new RegExp(`^The ${what} at version \\d and (?:is|are) now at \\d+\\.$`)
    expect(log.mock.calls).toEqual([[expect.stringMatching(sentence)]])
  }

/** Expects that the database user of this store may do everything that requests and jobs need. */
export async function expectToServe(store: StorageObjectStore): Promise<void> {
  expect(await store.verify()).toEqual([])
  const at = { bucket: 'uploads', scope: 'user:ann' }
  const expiresAt = new Date(Date.now() + 60_000)
  const reserve = (key: string) =>
    store.reserve({ ...at, key, declaredSize: 5, expiresAt, storageKey: `${key}-bytes` })
  const { id } = await reserve('a.txt')
  await store.setUploadId({ ...at, key: 'a.txt', id, uploadId: 'u' })
  await store.confirm({ ...at, key: 'a.txt', id, size: 5 })
  await reserve('b.txt')
  await store.release({ ...at, key: 'b.txt' })
  expect((await store.listByScope({ scope: 'user:ann' })).objects).toHaveLength(1)
  expect(await store.countByScope('user:ann')).toBe(1)
  await store.remove({ ...at, key: 'a.txt' })
  expect(await store.purgeExpired()).toEqual([])
  expect(await store.purgeDeleted({ before: new Date(Date.now() + 60_000) })).toBe(1)
  for (const { attemptId } of await store.listLeftovers()) await store.forgetLeftover({ attemptId })
  expect(await store.listLeftovers()).toEqual([])
  expect(await store.checkUsage()).toEqual([])
  expect(await store.repairUsage()).toEqual([])
}
