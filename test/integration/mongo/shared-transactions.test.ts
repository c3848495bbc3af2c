import type { StorageObjectStore } from '@svc/db'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'

const EXPIRES = new Date('2100-01-01')

describeMongo('concurrent writes of different scopes', (url) => {
  const watched = watchedClient(url)
  const { client } = watched
  const db = freshDatabase(client)
  const store: StorageObjectStore = mongoAdapter(db)
  let test = 0
  beforeAll(() => store.migrate())
  beforeEach(async () => {
    test++
    await store.ping()
    await store.getScopeUsage('any')
    watched.take()
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  const scopeOf = (name: string) => `${name} of test ${test}`
  const attempt = (name: string, more: object = {}) => ({
    ...{ scope: scopeOf(name), bucket: 'bucket', key: scopeOf(name) },
    ...{ declaredSize: 10, expiresAt: EXPIRES, ...more },
  })
  const commits = () => watched.take().filter(({ name }) => name === 'commitTransaction').length

  /** Makes calls while two transactions are in flight, so they share the next one. */
  async function together(calls: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
    const first = ['first', 'second'].map((name) => store.reserve(attempt(name)))
    const settled = await Promise.allSettled(calls.map((call) => call()))
    await Promise.all(first)
    return settled.map((result) =>
      result.status === 'fulfilled' ? result.value : (result.reason as { code: string | number }).code,
    )
  }

  it('share transactions, and the writes of one caller after another take 2 commands each', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `many ${i}`)
    const rows = await together(names.map((name) => () => store.reserve(attempt(name))))
    expect(rows).toMatchObject(names.map((name) => ({ scope: scopeOf(name) })))
    expect(commits()).toBe(3)
    const confirmed = await together(
      names.map((name) => () => store.confirm({ ...attempt(name), size: 7, scope: scopeOf(name) })),
    )
    expect(confirmed).toMatchObject(
      names.map((name) => ({ scope: scopeOf(name), status: 'active', size: 7 })),
    )
    for (const name of names) {
      expect(await store.getScopeUsage(scopeOf(name))).toMatchObject({ bytes: 7, reservedBytes: 0 })
    }
    watched.take()
    await store.reserve(attempt('many 0', { key: scopeOf('another') }))
    expect(watched.take().map(({ name }) => name)).toEqual(['update', 'commitTransaction'])
    expect(await store.checkUsage()).toEqual([])
  })

  it('give a free key to the scope that asked first', async () => {
    const names = ['a', 'b', 'c', 'd']
    const key = scopeOf('wanted')
    const outcomes = await together(names.map((name) => () => store.reserve(attempt(name, { key }))))
    expect(outcomes).toMatchObject([
      { scope: scopeOf('a'), key },
      ...['KEY_CONFLICT', 'KEY_CONFLICT', 'KEY_CONFLICT'],
    ])
    expect(await store.checkUsage()).toEqual([])
  })

  it('of both scopes of a transfer happen in order', async () => {
    await store.confirm({ ...(await store.reserve(attempt('giver'))), size: 10 })
    const [from, to] = [scopeOf('giver'), scopeOf('taker')]
    const key = scopeOf('giver')
    const outcomes = await together([
      () => store.transfer({ bucket: 'bucket', key, from, to }),
      () => store.remove({ bucket: 'bucket', key, scope: to, mode: 'hard' }),
      () => store.reserve(attempt('giver')),
    ])
    expect(outcomes).toMatchObject([
      { scope: to, key },
      { scope: to, key },
      { scope: from, key },
    ])
    expect(await store.checkUsage()).toEqual([])
  })

  it('do not wait for one that another process blocks', async () => {
    await Promise.all(['blocked', 'free'].map((name) => store.reserve(attempt(name))))
    const session = client.startSession()
    session.startTransaction()
    const objects = db.collection<{ _id: string }>('svc_db_objects')
    await objects.updateOne({ _id: scopeOf('blocked') }, { $inc: { turns: 1 } }, { session })
    const more = { key: scopeOf('more') }
    let blocked: Promise<unknown> | undefined
    const outcomes = await together([
      () => store.reserve(attempt('free', more)),
      async () => void (blocked = store.reserve(attempt('blocked', { key: scopeOf('later') }))),
      ...Array.from({ length: 5 }, (_, i) => () => store.reserve(attempt(`free ${i}`))),
    ])
    expect(outcomes[0]).toMatchObject(more)
    expect(outcomes.slice(2)).toMatchObject(Array(5).fill({ declaredSize: 10 }))
    expect(await store.countByScope(scopeOf('blocked'))).toBe(1)
    await session.abortTransaction()
    await session.endSession()
    await blocked
    expect(await store.countByScope(scopeOf('blocked'))).toBe(2)
    expect(await store.checkUsage()).toEqual([])
  })

  it('fail alone if the database refuses one of them', async () => {
    // A validator stands for whatever reason the database may have to refuse a document.
    const validator = { 'pending.filename': { $ne: 'poison' } }
    await db.command({ collMod: 'svc_db_objects', validator })
    const outcomes = await together([
      () => store.reserve(attempt('left')),
      () => store.reserve(attempt('poisoned', { filename: 'poison' })),
      () => store.reserve(attempt('right')),
    ]).finally(() => db.command({ collMod: 'svc_db_objects', validator: {} }))
    expect(outcomes).toMatchObject([
      { scope: scopeOf('left') },
      'DATABASE_UNAVAILABLE',
      { scope: scopeOf('right') },
    ])
    expect(await store.checkUsage()).toEqual([])
  })
})
