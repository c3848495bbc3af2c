import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'

const SCOPE = 'scope'
const inAnHour = () => new Date(Date.now() + 3_600_000)

interface At {
  readonly bucket: string
  readonly key: string
}

const reserve = (store: StorageObjectStore, at: At, more: object = {}) =>
  store.reserve({ scope: SCOPE, ...at, declaredSize: 5, expiresAt: inAnHour(), ...more })

/** The commands of a reserve that assumed something else than is stored: it starts again and reads. */
const REFUSED = ['update', 'abortTransaction', 'find', 'commitTransaction']
const REPEATED = ['update', 'abortTransaction', 'find', 'update', 'commitTransaction']

// A reserve that runs alone assumes that its key is free if that of the last one in its scope was.
describeMongo('a reserve that assumes a free key', (url) => {
  const watched = watchedClient(url)
  const { client } = watched
  const db = freshDatabase(client)
  const store = mongoAdapter(db)
  const other = mongoAdapter(db)
  let at: At

  beforeAll(() => store.migrate())
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })
  beforeEach(async () => {
    at = { bucket: 'bucket', key: createAttemptId() }
    await reserve(store, { ...at, key: `${at.key} of the scope` })
    await other.ping()
  })

  async function commandsOf(call: Promise<unknown>): Promise<string[]> {
    watched.take()
    await call
    return watched.take().map(({ name }) => name)
  }

  async function expectRightSums(): Promise<void> {
    expect(await store.checkUsage()).toEqual([])
  }

  it('refuses a key that another scope has', async () => {
    await reserve(other, at, { scope: 'other scope' })
    const refused = expect(reserve(store, at)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    expect(await commandsOf(refused)).toEqual(REFUSED)
    expect(await store.findPending(at)).toMatchObject({ scope: 'other scope' })
    await expectRightSums()
  })

  it('keeps the object that another process stored at the key', async () => {
    const { id } = await reserve(other, at)
    await other.confirm({ ...at, id, size: 5 })
    expect(await commandsOf(reserve(store, at, { declaredSize: 9 }))).toEqual(REPEATED)
    expect(await store.findActive(at)).toMatchObject({ attemptId: id })
    await expectRightSums()
  })

  it('refuses what exceeds the quota because of another process', async () => {
    const { bytes, reservedBytes } = await store.getScopeUsage(SCOPE)
    const quota = { maxBytes: bytes + reservedBytes + 5 }
    await reserve(other, { ...at, key: `${at.key} of the other` })
    const refused = expect(reserve(store, at, { quota })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(await commandsOf(refused)).toEqual(REFUSED)
    expect(await store.findPending(at)).toBeNull()
    const again = expect(reserve(store, at, { quota })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(await commandsOf(again)).toEqual(['find', 'commitTransaction'])
    await expectRightSums()
  })

  it('reserves without reading up to the last byte and file of a quota', async () => {
    const usage = await store.getScopeUsage(SCOPE)
    const quota = {
      maxBytes: usage.bytes + usage.reservedBytes + 5,
      maxFiles: usage.files + usage.reservedFiles + 1,
    }
    expect(await commandsOf(reserve(store, at, { quota }))).toEqual(['update', 'commitTransaction'])
    await expectRightSums()
  })
})
