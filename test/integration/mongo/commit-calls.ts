import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type { Db } from 'mongodb'
import { rejectionId } from '../../../src/adapters/mongo/documents/rejection-document.js'

/** How a router commits a transaction, as `serverStatus` names it. */
export type CommitType = 'singleShard' | 'readOnly' | 'twoPhaseCommit'

/** Where the documents of a call are. */
export interface Place {
  readonly scope: string
  /** Another scope, on the shard of the first. */
  readonly other: string
  readonly at: { readonly bucket: string; readonly key: string }
  /** The id of the attempt, and of the row. */
  readonly id: string
}

/** `later` is another store of the same objects, two hours ahead. */
type Call = (store: StorageObjectStore, place: Place, later: StorageObjectStore) => Promise<unknown>

/** A call whose commit is counted: with all documents on one shard, and with the scopes on one shard and all else on the other. */
export interface CommitCall {
  readonly name: string
  readonly call: Call
  readonly onTwo: CommitType
  readonly prepare: Call | undefined
  /** With all documents on one shard of sharded collections. */
  readonly onOne: CommitType
}

const counted = (
  name: string,
  onTwo: CommitType,
  call: Call,
  prepare?: Call,
  onOne: CommitType = 'singleShard',
): CommitCall => ({ name, onTwo, call, prepare, onOne })

const reserveWith = (store: StorageObjectStore, { scope, at, id }: Place, more: object) =>
  store.reserve({
    ...{ scope, ...at, id, storageKey: id, declaredSize: 5, expiresAt: new Date('2100-01-01') },
    ...more,
  })
const reserve: Call = (store, place) => reserveWith(store, place, {})
const CHECKED = { checkSeconds: 3600 }
const uploadWith = async (store: StorageObjectStore, place: Place, more: object) => {
  await reserveWith(store, place, more)
  await store.confirm({ ...place.at, scope: place.scope, size: 5 })
}
const activate: Call = (store, place) => uploadWith(store, place, {})
const temporary: Call = (store, place) => uploadWith(store, place, { temporarySeconds: 3600 })
const removed: Call = async (store, place) => {
  await uploadWith(store, place, {})
  await store.remove({ ...place.at, scope: place.scope })
}

export const COMMIT_CALLS: readonly CommitCall[] = [
  counted('reserve', 'twoPhaseCommit', reserve),
  counted('reserve that is refused', 'readOnly', (store, place) =>
    reserveWith(store, place, { quota: { maxBytes: 1 } }).catch(() => null),
  ),
  counted(
    'confirm',
    'twoPhaseCommit',
    (store, { at, scope }) => store.confirm({ ...at, scope, size: 5 }),
    reserve,
  ),
  counted('release', 'twoPhaseCommit', (store, { at, scope }) => store.release({ ...at, scope }), reserve),
  counted(
    'soft remove',
    'twoPhaseCommit',
    (store, { at, scope }) => store.remove({ ...at, scope }),
    activate,
  ),
  counted(
    'update',
    'twoPhaseCommit',
    (store, { at, scope }) => store.update({ ...at, scope, filename: 'new' }),
    activate,
  ),
  counted(
    'transfer',
    'twoPhaseCommit',
    (store, { at, scope, other }) => store.transfer({ ...at, from: scope, to: other }),
    activate,
  ),
  counted(
    'keep, which looks for the ids on all shards',
    'twoPhaseCommit',
    (store, { scope, id }) => store.keep({ scope, objects: [{ id }] }),
    temporary,
    'twoPhaseCommit',
  ),
  counted(
    'confirm that marks an arrival',
    'twoPhaseCommit',
    (store, { at, scope }) => store.confirm({ ...at, scope, size: 6 }),
    (store, place) => reserveWith(store, place, CHECKED),
  ),
  counted(
    'reject',
    'twoPhaseCommit',
    (store, { at, id }) => store.reject({ ...at, id }),
    (store, place) => uploadWith(store, place, CHECKED),
  ),
  counted(
    'endTemporary',
    'twoPhaseCommit',
    async (_, { scope }, later) => later.endTemporary({ objects: await later.listTemporary({ scope }) }),
    temporary,
  ),
  counted(
    'deferLeftover',
    'singleShard',
    (store, { id }) => store.deferLeftover({ attemptId: id, until: new Date('2100-01-01') }),
    removed,
  ),
  counted(
    'forgetLeftover',
    'singleShard',
    (store, { id }) => store.forgetLeftover({ attemptId: id }),
    removed,
  ),
  counted(
    'purgeDeleted',
    'twoPhaseCommit',
    (store, { scope }) => store.purgeDeleted({ scope, before: new Date() }),
    removed,
  ),
  counted(
    'purgeDeleted of an object',
    'twoPhaseCommit',
    (store, { id }) => store.purgeDeleted({ id }),
    removed,
  ),
]

/** Finds ids whose documents are on one shard, or on two. */
export async function findPlace(db: Db, shards: 1 | 2): Promise<Place> {
  const shardOf = async (collection: string, _id: string): Promise<string> => {
    const explained = await db
      .collection<{ _id: string }>(`svc_db_${collection}`)
      .find({ _id })
      .explain('queryPlanner')
    const { queryPlanner } = explained as {
      queryPlanner: { winningPlan: { shards: [{ shardName: string }] } }
    }
    return queryPlanner.winningPlan.shards[0].shardName
  }
  const scope = createAttemptId()
  const home = await shardOf('objects', scope)
  const search = async (
    fits: (shard: string) => boolean,
    documentsOf: (id: string) => readonly (readonly [collection: string, _id: string])[],
  ) => {
    for (;;) {
      const id = createAttemptId()
      const found = await Promise.all(documentsOf(id).map(([collection, _id]) => shardOf(collection, _id)))
      if (found.every(fits)) return id
    }
  }
  const isWanted = (shard: string) => (shard === home) === (shards === 1)
  return {
    scope,
    other: await search(
      (shard) => shard === home,
      (scope) => [['objects', scope]],
    ),
    at: { bucket: 'placed', key: await search(isWanted, (key) => [['objects', `placed\0${key}`]]) },
    id: await search(isWanted, (id) => [
      ['history', id],
      ['leftovers', id],
      ['objects', rejectionId(id)],
    ]),
  }
}

type CommitCounts = Readonly<Record<string, { readonly initiated: number }>>

/** Makes a call through a router and returns how the router committed its transactions. */
export async function commitTypesOf(db: Db, call: () => Promise<unknown>): Promise<string[]> {
  const count = async () => {
    const status = await db.admin().command({ serverStatus: 1 })
    const { transactions } = status as unknown as { transactions: { commitTypes: CommitCounts } }
    return transactions.commitTypes
  }
  const before = await count()
  await call()
  return Object.entries(await count()).flatMap(([type, { initiated }]) =>
    Array<string>(initiated - before[type]!.initiated).fill(type),
  )
}
