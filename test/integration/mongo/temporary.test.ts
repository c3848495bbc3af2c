import { createAttemptId } from '@svc/db'
import { mongoAdapter } from '@svc/db/mongo'
import type { Db } from 'mongodb'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { keyId } from '../../../src/core/names.js'
import { afterNoon, NOON, settableClock } from '../../unit/core/settable-clock.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const LAST = new Date('2100-01-01')
const ALL = { before: LAST, limit: 1000 }

// The rules are those of the conformance suite. Here are the documents that they are stored in.
describeMongo('objects with an end and attempts that are checked, in MongoDB', (url) => {
  const client = clientOf(url)
  const db: Db = freshDatabase(client)
  const clock = settableClock()
  const store = mongoAdapter(db, { now: clock.now })
  const documents = db.collection<{ _id: string }>('svc_db_objects')
  let scope: string
  beforeAll(() => store.migrate())
  beforeEach(() => {
    clock.set(NOON)
    scope = createAttemptId()
  })
  afterAll(async () => {
    expect(await store.checkUsage()).toEqual([])
    await db.dropDatabase()
    await client.close()
  })

  const at = (name: string) => ({ bucket: 'bucket', key: `${scope} ${name}` })

  async function upload(name: string, terms: object = {}, owner = scope) {
    const { id } = await store.reserve({
      ...{ scope: owner, ...at(name), storageKey: createAttemptId(), declaredSize: 5 },
      ...{ expiresAt: new Date(clock.now().getTime() + HOUR), ...terms },
    })
    return store.confirm({ ...at(name), id, scope: owner, size: 7, eTag: 'e' })
  }

  const TEMPORARY = { temporarySeconds: 60 }
  const CHECKED = { checkSeconds: 7200 }

  it('keep as many objects as a call takes, by the id of the object or of its attempt', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `${i}`)
    await Promise.all(names.map((name) => upload(name, TEMPORARY)))
    // Concurrent replacements share transactions, and write documents anew.
    const rows = await Promise.all(names.map((name) => upload(name, TEMPORARY)))
    const ids = rows.map(({ id, attemptId }, i) => ({ id: i % 2 ? id : attemptId }))
    expect(rows.every(({ id, attemptId }) => id !== attemptId)).toBe(true)
    const kept = await store.keep({ scope, objects: ids })
    expect(kept.map(({ key }) => key)).toEqual(rows.map(({ key }) => key))
    expect(kept.every(({ temporaryUntil }) => temporaryUntil === null)).toBe(true)
    expect(await store.listTemporary({ scope, ...ALL })).toEqual([])
    expect(await store.keep({ scope, objects: ids })).toEqual(kept)
  })

  it('keep nothing if one is missing, after one that another process removed meanwhile', async () => {
    const [first, second] = [await upload('first', TEMPORARY), await upload('second', TEMPORARY)]
    const session = client.startSession()
    onTestFinished(() => session.endSession())
    session.startTransaction()
    await documents.deleteOne({ _id: keyId(second) }, { session })
    const keeping = store.keep({ scope, objects: [first, second] })
    const refused = expect(keeping).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
      params: { missing: '1' },
    })
    await session.commitTransaction()
    await refused
    expect(await store.listTemporary({ scope, ...ALL })).toMatchObject([{ id: first.id }])
    // The object was removed without its sums.
    await store.repairUsage(scope)
  })

  it('skip objects behind an open transaction, and remove those of other scopes', async () => {
    const held = await upload('held', TEMPORARY)
    const free = await upload('free', TEMPORARY, createAttemptId())
    clock.set(afterNoon(2 * MINUTE))
    const session = client.startSession()
    onTestFinished(() => session.endSession())
    session.startTransaction()
    await documents.updateOne({ _id: scope }, { $inc: { turns: 1 } }, { session })
    const objects = [held, free]
    expect(await store.endTemporary({ objects })).toMatchObject({ removed: [{ id: free.id }], kept: 1 })
    await session.abortTransaction()
    expect(await store.endTemporary({ objects })).toMatchObject({ removed: [{ id: held.id }], kept: 1 })
  })

  it('stay if a process of 1.5.5 replaces their document, which drops the end', async () => {
    await upload('dropped', TEMPORARY)
    const { id, attemptId } = await upload('dropped', TEMPORARY)
    const dropped = { 'active.temporaryUntil': 1, 'active.isOriginal': 1 } as const
    await documents.updateOne({ _id: keyId(at('dropped')) }, { $unset: dropped })
    clock.set(afterNoon(HOUR))
    expect(await store.findActive(at('dropped'))).toMatchObject({ id, temporaryUntil: null })
    expect(await store.keep({ scope, objects: [{ id: attemptId }] })).toMatchObject([{ id, attemptId }])
    expect(await store.listTemporary({ scope, ...ALL })).toEqual([])
  })

  it('reserve the size of an arrived attempt, in the sums and in a recount of all scopes and of one', async () => {
    await upload('active')
    await upload('active', CHECKED)
    await upload('new', CHECKED)
    const usage = { bytes: 7, files: 1, reservedBytes: 7, reservedFiles: 1 }
    expect(await store.getScopeUsage(scope)).toEqual(usage)
    await documents.updateOne({ _id: scope }, { $inc: { reservedBytes: 1 } })
    const difference = { scope, recorded: { ...usage, reservedBytes: 8 }, actual: usage }
    expect(await store.checkUsage()).toEqual([difference])
    expect(await store.repairUsage(scope)).toEqual([difference])
  })

  it('remember a rejection apart from keys, scopes and history, until its scope is purged', async () => {
    const [mine, theirs] = [await upload('mine', CHECKED), await upload('theirs', CHECKED)]
    const again = { size: 7, scope, accept: false }
    await store.reject({ ...mine, reason: 'infected' })
    await store.reject({ ...theirs })
    const refused = (reason: string) => ({ code: 'UPLOAD_REJECTED', params: { reason } })
    const confirming = (row: typeof mine) =>
      store.confirm({ ...at('mine'), key: row.key, id: row.id, ...again })
    await expect(confirming(mine)).rejects.toMatchObject(refused('infected'))
    await expect(confirming(theirs)).rejects.toMatchObject({ code: 'UPLOAD_REJECTED' })
    expect((await store.listScopes({ prefix: scope })).map((found) => found.scope)).toEqual([scope])
    expect(await store.listByScope({ scope })).toEqual({ objects: [] })
    expect(await store.checkUsage(scope)).toEqual([])

    await store.purgeDeleted({ scope: 'another', before: LAST })
    await expect(confirming(mine)).rejects.toMatchObject(refused('infected'))
    expect(await store.purgeDeleted({ scope, before: LAST })).toBe(0)
    await expect(confirming(mine)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect(await documents.countDocuments({ scope, rejectedAt: { $exists: true } })).toBe(0)
  })

  it('forget rejections that are older than an hour at the next one', async () => {
    const first = await upload('first', CHECKED)
    await store.reject(first)
    clock.set(afterNoon(HOUR))
    const second = await upload('second', CHECKED)
    await store.reject(second)
    const left = await documents.find({ scope, rejectedAt: { $exists: true } }).toArray()
    expect(left).toMatchObject([{ at: keyId(second), rejectedAt: afterNoon(HOUR) }])
  })
})
