import {
  checkStorage,
  createS3Server,
  db,
  importObjects,
  memoryStorage,
  StorageError,
  type ObjectStorage,
  type StorageObjectStore,
} from '@svc/db'
import type { VerifyInput } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { BUCKET } from './service.js'

function serverOf({ store = memoryAdapter(), storage = memoryStorage(), ...options } = {}) {
  const plugins = [db({ client: store, resolveScope: () => null })]
  return createS3Server({ storage, bucket: BUCKET, plugins, ...options })
}

const withVerify = (verify: ObjectStorage['verify']): ObjectStorage =>
  verify ? { ...memoryStorage(), verify } : memoryStorage()

describe('s3.verify', () => {
  it('finds nothing in a service in memory, and needs no verify of a storage', async () => {
    expect(await serverOf().verify()).toEqual([])
    const others = Object.entries(memoryStorage()).filter(([name]) => name !== 'verify')
    const storage = Object.fromEntries(others) as unknown as ObjectStorage
    expect(await serverOf({ storage }).verify()).toEqual([])
  })

  it('returns what database and storage find', async () => {
    const store: StorageObjectStore = {
      ...memoryAdapter(),
      verify: () => Promise.resolve(['The schema was never migrated. Run migrate().']),
    }
    const finding = { part: 'cors', message: 'Add a rule.' } as const
    const storage = withVerify(() => Promise.resolve([finding]))
    expect(await serverOf({ store, storage }).verify()).toEqual([
      { part: 'database', message: 'The schema was never migrated. Run migrate().' },
      finding,
    ])
  })

  it('returns what it can not reach, with the cause', async () => {
    const causes = new AggregateError([new Error('connect ECONNREFUSED ::1\u001b[2J')])
    const store: StorageObjectStore = {
      ...memoryAdapter(),
      verify: () => Promise.reject(new StorageError('DATABASE_UNAVAILABLE', { cause: causes })),
    }
    const storage = withVerify(() => Promise.reject(new Error('no bucket')))
    const advice = (part: string) => `check that the ${part} runs, and the settings that name it.`
    expect(await serverOf({ store, storage }).verify()).toEqual([
      {
        part: 'database',
        message: `The database is unavailable (connect ECONNREFUSED ::1\\u{1b}[2J): ${advice('database')}`,
      },
      { part: 'bucket', message: `The storage is unavailable (no bucket): ${advice('bucket')}` },
    ])
  })

  it('passes on the bucket, the origin, and whether browsers upload', async () => {
    const inputs: Omit<VerifyInput, 'signal'>[] = []
    const storage = withVerify(({ signal: _, ...input }) => {
      inputs.push(input)
      return Promise.resolve([])
    })
    await serverOf({ storage }).verify()
    await serverOf({ storage, ...{ upload: false } }).verify({
      bucket: 'other',
      origin: 'capacitor://localhost',
    })
    await serverOf({ storage, ...{ upload: false, multipart: false } }).verify({ origin: null })
    expect(inputs).toEqual([
      { bucket: BUCKET, origin: null, browserUploads: true },
      { bucket: 'other', origin: 'capacitor://localhost', browserUploads: true },
      { bucket: BUCKET, origin: null, browserUploads: false },
    ])
  })

  it('rejects with the reason of its signal, once the storage has ended', async () => {
    const controller = new AbortController()
    const ended: string[] = []
    const storage = withVerify(async ({ signal }) => {
      controller.abort(new Error('stop'))
      await Promise.resolve()
      ended.push('storage')
      signal!.throwIfAborted()
      return []
    })
    const verifying = serverOf({ storage }).verify({ signal: controller.signal })
    await expect(verifying).rejects.toThrow('stop')
    expect(ended).toEqual(['storage'])
    await expect(serverOf({ storage }).verify({ signal: controller.signal })).rejects.toThrow('stop')
    expect(ended).toHaveLength(1)
  })

  it('is passed over by jobs that list a bucket, while it works or after it was killed', async () => {
    const storage = memoryStorage()
    const terms = { bucket: BUCKET, contentType: 'text/plain', attemptId: 'a', body: new Uint8Array(1) }
    for (const key of ['.svc-db/verify', '.svc-db', 'a']) await storage.write!({ ...terms, key })
    const s3 = serverOf({ storage })
    const found: string[] = []
    const onDifference = ({ storageKey }: { storageKey: string }) => found.push(storageKey)
    await checkStorage(s3, { onDifference, olderThanSeconds: 0 })
    expect(found).toEqual(['.svc-db', 'a'])
    const select = () => ({ scope: 'user:1' })
    expect(await importObjects(s3, { select })).toMatchObject({ imported: 2, skipped: 0 })
  })
})
