import { readFileSync } from 'node:fs'
import { createAttemptId } from '@svc/db'
import type pg from 'pg'
import { inSchema, schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { quoted } from './schemas.js'

const TEXT = readFileSync(new URL('version-1-5.sql', import.meta.url), 'utf8')

/** Returns what `postgresSchema()` of release 1.5.5 returns. */
export function schemaOfVersion15(schema: string): string {
  return inSchema(TEXT, schemaName('schemaOfVersion15', schema))
}

/** An object as the functions of that release know it. */
interface Target {
  readonly scope: string
  readonly key: string
}

interface Attempt extends Target {
  readonly id: string
}

const BUCKET = 'bucket'
const SIZE = 10

/** Makes the calls of a process of version 1.5: the functions of the schema, with the arguments that it passes. */
export function callsOfVersion15(pool: pg.Pool | pg.PoolClient, schema: string) {
  const now = () => new Date().toISOString()
  const later = () => new Date(Date.now() + 60_000).toISOString()
  async function callFunction(name: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    const parameters = values.map((_, index) => `$${index + 1}`).join(', ')
    return pool.query(`SELECT * FROM ${quoted(schema)}.${name}(${parameters})`, [...values])
  }
  const reservation = ({ scope, key }: Target, id: string, expiresAt: string) => [
    ...[id, scope, BUCKET, key, SIZE, expiresAt, null, null, null, null, `bytes/${id}`, null, true],
    ...[null, null, now()],
  ]

  return {
    async reserve(target: Target, expiresAt = later()): Promise<Attempt> {
      const id = createAttemptId()
      await callFunction('reserve_v1', reservation(target, id, expiresAt))
      return { ...target, id }
    },
    async confirm({ scope, key, id }: Attempt): Promise<void> {
      await callFunction('confirm_v1', [BUCKET, key, id, scope, SIZE, null, null, null, now()])
    },
    async batch(scope: string, keys: readonly string[]): Promise<void> {
      const writes = keys.map((key, place) => {
        const id = createAttemptId()
        const common = { place, kind: 'reserve', id, bucket: BUCKET, key, now: now(), overwrite: true }
        return { ...common, declared_size: SIZE, expires_at: later(), storage_key: `bytes/${id}` }
      })
      await callFunction('write_batch_v1', [scope, JSON.stringify(writes)])
    },
    async release({ scope, key, id }: Attempt): Promise<void> {
      await callFunction('release_v1', [BUCKET, key, id, scope, null, now()])
    },
    async confirmBatch(attempts: readonly Attempt[]): Promise<void> {
      const writes = attempts.map(({ key, id }, place) => {
        return { place, kind: 'confirm', id, bucket: BUCKET, key, now: now(), size: SIZE }
      })
      await callFunction('write_batch_v1', [attempts[0]!.scope, JSON.stringify(writes)])
    },
    async remove({ scope, key }: Target, mode: 'soft' | 'hard' = 'soft'): Promise<void> {
      await callFunction('remove_v1', [BUCKET, key, scope, mode === 'soft', now()])
    },
    async purgeExpired(): Promise<void> {
      await callFunction('purge_expired_v1', [null, now(), 10, now()])
    },
    async purgeDeleted(): Promise<void> {
      await callFunction('purge_deleted_v1', [now(), 10])
    },
  }
}
