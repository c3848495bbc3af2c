import { copyFileSync } from 'node:fs'
import { sqliteAdapter } from '@svc/db/sqlite'
import { seeds, type OpenStore } from '../http-table/fixture.js'
import type { databaseFolder } from './files.js'

/** Returns a function that opens stores, each on a new file, with the objects of the HTTP table or none. */
export async function openOnFiles(folder: ReturnType<typeof databaseFolder>): Promise<OpenStore> {
  const originals = { nothing: await folder.migratedPath(false), objects: await folder.migratedPath(false) }
  const database = folder.handle(originals.objects)
  let now = new Date()
  const store = sqliteAdapter(database, { now: () => now })
  for (const { status = 'active', size, declaredSize, createdAt, ...seed } of seeds) {
    now = createdAt ?? now
    const attempt = { ...seed, declaredSize: declaredSize ?? size ?? 0, expiresAt: new Date('2100-01-01') }
    const { bucket, key, id } = await store.reserve(attempt)
    if (status === 'pending') continue
    await store.confirm({ bucket, key, id, size: size ?? 0, eTag: seed.eTag })
    if (status === 'deleted') await store.remove({ bucket, key, mode: 'soft' })
  }
  database.close()
  return (contents) => {
    const path = folder.newPath()
    copyFileSync(originals[contents], path)
    return folder.open(path)
  }
}
