import type { Db, MongoClient } from 'mongodb'
import { installedMongod, installedMongos } from '../../servers/mongod.js'
import {
  startShardedCluster,
  type ShardedCluster,
  type ShardedClusterOptions,
} from '../../servers/sharded-cluster.js'
import { freshDatabase } from './databases.js'

const mongod = installedMongod()
const mongos = installedMongos()

/** Why tests can't start a cluster, to be appended to their title. Empty if they can. */
export const routerReason =
  mongod === null || mongos === null ? ' (skipped: PATH has no mongod and mongos)' : ''

export function startCluster(
  options: Pick<ShardedClusterOptions, 'transactionSeconds'> = {},
): Promise<ShardedCluster> {
  const programs = { mongod: mongod ?? '', mongos: mongos ?? '' }
  return startShardedCluster({ ...programs, journalInterval: 5, failPoints: true, ...options })
}

/** The collections that can be sharded. */
export const SHARDED = ['objects', 'history', 'leftovers'] as const

/** Shards collections before the first migration. */
export async function shardCollections(db: Db, names: readonly string[], key: object): Promise<void> {
  const admin = db.client.db('admin')
  await admin.command({ enableSharding: db.databaseName })
  for (const name of names) await admin.command({ shardCollection: `${db.databaseName}.svc_db_${name}`, key })
}

export function shardByHashedId(db: Db): Promise<void> {
  return shardCollections(db, SHARDED, { _id: 'hashed' })
}

export const LAYOUTS = ['unsharded', 'sharded by a hashed _id'] as const
export type Layout = (typeof LAYOUTS)[number]

/** Returns a database that no other test uses, without collections that `migrate()` creates. */
export async function databaseOf(client: MongoClient, layout: Layout): Promise<Db> {
  const db = freshDatabase(client)
  if (layout !== 'unsharded') await shardByHashedId(db)
  return db
}
