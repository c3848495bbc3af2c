// A CommonJS application that uses every entry. It compiles with the oldest supported packages, and runs.
import { strict as assert } from 'assert'
import { describe, it } from 'node:test'
import { S3Client } from '@aws-sdk/client-s3'
import { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Redis from 'ioredis'
import Koa from 'koa'
import { MongoClient, type Db } from 'mongodb'
import { Client, Pool } from 'pg'
import { createS3Server, db, memoryStorage, StorageError, type StorageObject } from '@svc/db'
import { createStore, type StoreDriver } from '@svc/db/adapter'
import { createS3Client, dbClient } from '@svc/db/client'
import { storeConformance } from '@svc/db/conformance'
import { diskStorage } from '@svc/db/disk'
import { expressBinding, expressRequest } from '@svc/db/express'
import { fastifyBinding, fastifyRequest } from '@svc/db/fastify'
import { honoBinding, honoContext } from '@svc/db/hono'
import {
  fetchRequest,
  koaBinding,
  koaContext,
  type IncomingKoaContext,
  type KoaMiddleware,
} from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { redisUsageCache } from '@svc/db/redis'
import { s3Storage } from '@svc/db/s3'
import { sqliteAdapter } from '@svc/db/sqlite'
import { createUploadQueue } from '@svc/db/uploads'

export const stores = {
  pg: (pool: Pool) => postgresAdapter(pool, { schema: 'files', readPool: new Pool({ max: 2 }) }),
  client: (client: Client) => postgresAdapter(client),
  pglite: (database: PGlite) => postgresAdapter(database),
  sqlite: (database: Database.Database) => sqliteAdapter(database),
  mongo: (database: Db) => mongoAdapter(database),
  cached: (redis: InstanceType<typeof Redis>) => redisUsageCache(memoryAdapter(), redis),
  own: (driver: StoreDriver) => createStore(driver),
}
export const storages = {
  disk: (directory: string) => diskStorage({ directory }),
  s3: (client: S3Client) => s3Storage({ client }),
}
export const used = [MongoClient, S3Client, PGlite, Database, Redis]
export const suite = () =>
  storeConformance({
    name: 'memory',
    createStore: ({ now, events }) => memoryAdapter({ now, events }),
    test: { describe, it },
  })

const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [
    db({
      client: memoryAdapter({ objects: [{ scope: 'ann', bucket: 'files', key: 'a' }] }),
      resolveScope: (request) =>
        request.headers.get('x-user') ?? expressRequest(request).get('x-user') ?? null,
    }),
  ],
})
export const inExpress = express().use(expressBinding(s3))
export const inFastify = fastify().register(fastifyBinding(s3))
export const inHono = new Hono().use(honoBinding(s3))
const inEveryKoa: KoaMiddleware = koaBinding(s3)
export const inKoa = new Koa().use(inEveryKoa).use((ctx) => {
  const incoming: IncomingKoaContext = ctx
  ctx.body = fetchRequest(incoming).url
})
// @ts-expect-error It accepts only the result of createS3Server() or db().
export const refused = () => koaBinding({})
export const usersOf = (request: Request) => [
  koaContext(request).get('x-user'),
  fastifyRequest(request).headers['x-user'],
  honoContext(request).req.header('x-user'),
]

async function run(): Promise<void> {
  const { api } = createS3Client({
    baseURL: 'http://app.test',
    headers: { 'x-user': 'ann' },
    plugins: [dbClient()],
    fetch: (input, init) => s3.handler(new Request(input, init)),
  })
  createUploadQueue(api, { concurrency: 2 }).add(new Blob(['hello']))
  const { objects } = await api.db.listObjects()
  assert.deepEqual(
    objects.map(({ key }) => key),
    ['a'],
  )
  const found: StorageObject | null = await s3.db.objects.find({ bucket: 'files', key: 'a' })
  assert.equal(found?.scope, 'ann')
  assert.match(postgresSchema(), /CREATE TABLE/)
  assert.ok(new StorageError('QUOTA_EXCEEDED') instanceof Error)
  console.log('ran')
}

run().catch((error: unknown) => {
  console.error(error)
  process.exitCode = 1
})
