import { createAttemptId, type StoreDriver, type StorageObject } from '@svc/db'
import fc from 'fast-check'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryDriver } from '../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../src/adapters/memory/tables.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { pgliteDatabase } from '../../../src/adapters/postgres/connection/pglite-database.js'
import type { Database } from '../../../src/adapters/postgres/connection/database.js'
import { createPostgresDriver } from '../../../src/adapters/postgres/postgres-driver.js'
import { schemaName } from '../../../src/adapters/postgres/schema/schema-name.js'
import { runs } from '../../long-runs.js'
import { afterNoon } from '../../unit/core/settable-clock.js'
import { confirmCommand, reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

const SCOPES = ['ann', 'bob', 'Cid']
const BUCKETS = ['photos', 'photos', 'photos', 'other']
/** Names that begin with each other, and characters on both sides of the "~" that precedes an attempt id. */
const NAMES = ['a', 'a/', 'a/b', 'aa', 'a~', 'a~0', 'a~f', 'a\u007f', 'aé', 'b', '\u{10ffff}']
const METADATA = [null, {}, { x: '1', y: '2' }, { y: '2', x: '1' }, { x: '2', y: '1' }]
const MAX_SUM = Number.MAX_SAFE_INTEGER

interface Step {
  readonly call: 'reserve' | 'confirm' | 'remove' | 'update' | 'transfer' | 'adopt' | 'forget'
  readonly bucket: string
  readonly key: string
  readonly scope: string
  readonly other: string
  readonly naming: 'none' | 'key' | 'attempt' | 'name'
  readonly name: string
  readonly size: number
  readonly limit: number | null
  readonly lasts: number
  /** Which of the attempts so far the call names; beyond them, none. */
  readonly attempt: number
  readonly text: string | null
  readonly metadata: Readonly<Record<string, string>> | null
  readonly fields: number
}

const step: fc.Arbitrary<Step> = fc.record({
  call: fc.constantFrom(
    ...(['reserve', 'reserve', 'reserve', 'confirm', 'confirm', 'confirm'] as const),
    ...(['remove', 'update', 'transfer', 'transfer', 'adopt', 'adopt', 'forget'] as const),
  ),
  bucket: fc.constantFrom(...BUCKETS),
  key: fc.constantFrom(...NAMES),
  scope: fc.constantFrom(...SCOPES),
  other: fc.constantFrom(...SCOPES),
  naming: fc.constantFrom('none', 'key', 'attempt', 'attempt', 'name'),
  name: fc.constantFrom(...NAMES),
  size: fc.oneof({ weight: 30, arbitrary: fc.constantFrom(0, 1, 5, 10) }, fc.constant(MAX_SUM - 8)),
  limit: fc.constantFrom(null, null, null, 0, 3, 12),
  lasts: fc.constantFrom(1, 1000, 1000),
  attempt: fc.nat(5),
  text: fc.constantFrom(null, 'text', 'tëxt'),
  metadata: fc.constantFrom(...METADATA),
  fields: fc.integer({ min: 1, max: 7 }),
})

/** Makes the same calls on every driver. Most target the key of a recent attempt, because most keys are empty. */
function callsOf(steps: readonly Step[]): ((driver: StoreDriver) => Promise<unknown>)[] {
  const attempts: { id: string; bucket: string; key: string; storageKey: string | null; scope: string }[] = []
  return steps.map((choice, second) => {
    const { call, other, size, limit } = choice
    const now = afterNoon(second * 10_000)
    const named = attempts.at(-1 - choice.attempt) ?? null
    const at = named ?? choice
    const { bucket, key } = at
    const quota = { maxBytes: limit, maxFiles: limit === null ? null : 2 }
    const attemptId = choice.fields % 2 === 0 ? (named?.id ?? null) : null
    switch (call) {
      case 'reserve': {
        const id = createAttemptId()
        const target = choice.fields < 4 ? at : choice
        const storageKey = { none: null, key: target.key, attempt: `${target.key}~${id}`, name: choice.name }[
          choice.naming
        ]
        const { scope } = target
        attempts.push({ id, bucket: target.bucket, key: target.key, storageKey, scope })
        const command = reserveCommand({
          id,
          scope,
          bucket: target.bucket,
          key: target.key,
          declaredSize: size,
          storageKey,
          now,
          expiresAt: afterNoon((second + choice.lasts) * 10_000),
          metadata: choice.metadata,
        })
        return (driver) => driver.reserve(command)
      }
      case 'confirm': {
        const command = confirmCommand({ id: named?.id ?? null, bucket, key, size, now })
        return (driver) => driver.confirm(command)
      }
      case 'remove': {
        const mode = choice.fields > 3 ? 'soft' : 'hard'
        return (driver) => driver.remove({ bucket, key, scope: null, attemptId, mode, now })
      }
      case 'update': {
        const changes = {
          ...(choice.fields & 1 && { filename: choice.text }),
          ...(choice.fields & 2 && { contentType: choice.text }),
          ...(choice.fields & 4 && { metadata: choice.metadata }),
        }
        const scope = choice.fields === 5 ? other : null
        return (driver) => driver.update!({ bucket, key, scope, attemptId, changes, now })
      }
      case 'transfer': {
        const from = choice.fields > 2 ? at.scope : choice.scope
        return (driver) => driver.transfer!({ bucket, key, from, to: other, attemptId, quota, now })
      }
      case 'adopt': {
        const id = createAttemptId()
        const storageKey = choice.fields > 3 ? (named?.storageKey ?? key) : choice.name
        const target = choice.fields % 2 === 0 ? at : choice
        attempts.push({ id, bucket: target.bucket, key: target.key, storageKey, scope: target.scope })
        const command = {
          id,
          scope: target.scope,
          bucket: target.bucket,
          key: target.key,
          storageKey,
          size,
          now,
          createdAt: afterNoon(-1000 * second),
          eTag: choice.text,
          route: choice.text,
          filename: choice.text,
          contentType: choice.text,
          metadata: choice.metadata,
        }
        if (choice.fields < 7) return (driver) => driver.adopt!(command)
        return async (driver) => [await driver.adopt!(command), await driver.adopt!(command)].map(comparable)
      }
      case 'forget':
        return (driver) => driver.forgetLeftover(named?.id ?? createAttemptId())
    }
  })
}

/** A result in which nothing has an order. */
function comparable(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('scopes' in result)) return result
  return { ...result, scopes: [...new Set(result.scopes as string[])].sort() }
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(comparable, () => 'an error')
}

async function storedPages(driver: StoreDriver): Promise<unknown> {
  const pages: unknown[] = []
  for (const bucket of new Set(BUCKETS)) {
    for (const prefix of [null, 'a', 'a~', 'a/']) {
      for (const limit of [1, 2, 3, 50]) {
        let after: string | null = null
        for (;;) {
          const items: Awaited<ReturnType<NonNullable<StoreDriver['listStored']>>> = await driver.listStored!(
            {
              bucket,
              prefix,
              after,
              limit,
            },
          )
          pages.push({
            bucket,
            prefix,
            limit,
            after,
            items: items.map((item) => JSON.stringify(item)).sort(),
          })
          if (items.length < limit) break
          after = items.at(-1)!.storageKey
        }
      }
    }
    for (const after of NAMES) {
      const items = await driver.listStored!({ bucket, prefix: null, after, limit: 2 })
      pages.push({ bucket, after, items: items.map((item) => JSON.stringify(item)).sort() })
    }
  }
  return pages
}

async function stateOf(driver: StoreDriver, ids: readonly string[]): Promise<unknown> {
  const scopes = (await driver.listScopes!({ limit: 100, after: null })).filter(({ counts }) =>
    Object.values(counts).some((count) => count > 0),
  )
  const { items } = await driver.listEvents!({ limit: 1000, after: null })
  const found: (StorageObject | null)[] = []
  for (const id of ids)
    found.push(await driver.findById!({ id, scope: null }), await driver.findById!({ id, scope: 'ann' }))
  return {
    scopes,
    secondScope: (await driver.listScopes!({ limit: 1, after: 'Cid' }))
      .map(({ scope }) => scope)
      .filter((scope) => scopes.some((known) => known.scope === scope)),
    found,
    stored: await storedPages(driver),
    events: items.map(({ type, object, previous, createdAt }) => ({ type, object, previous, createdAt })),
    usage: await driver.checkUsage(null),
  }
}

function itEqualsMemory(
  open: () => { driver: StoreDriver; empty: () => Promise<unknown> },
  numRuns: number,
): void {
  it('returns what the memory driver returns, call by call', async () => {
    const { driver, empty } = open()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 60 }), async (steps) => {
        await empty()
        const memory = createMemoryDriver(new Tables({ events: true }))
        const ids = new Set<string>()
        for (const [index, call] of callsOf(steps).entries()) {
          const expected = await outcomeOf(call(memory))
          if (expected === 'an error') continue
          expect(await outcomeOf(call(driver)), `${index}: ${JSON.stringify(steps[index])}`).toEqual(expected)
          const row = (expected as { row?: StorageObject | null })?.row
          if (row) ids.add(row.id).add(row.attemptId)
        }
        expect(await stateOf(driver, [...ids])).toEqual(await stateOf(memory, [...ids]))
      }),
      { numRuns, endOnFailure: true },
    )
  })
}

const TABLES = ['objects', 'scope_usage', 'leftovers', 'events']
const driverOf = (database: Database, schema: string) =>
  createPostgresDriver({ database, readDatabase: database, schema: schemaName('test', schema), events: true })

describePostgres('random changes of objects on a server', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  const driver = driverOf(pgDatabase(pool, { named: true }), schema)
  beforeAll(() => driver.migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  const empty = async () => {
    for (const table of TABLES) await pool.query(`DELETE FROM "${schema.replaceAll('"', '""')}".${table}`)
  }
  itEqualsMemory(() => ({ driver, empty }), runs(40, 100))
})

describe('random changes of objects on PGlite', () => {
  const database = new PGlite()
  const driver = driverOf(pgliteDatabase(database), 'svc_db')
  beforeAll(() => driver.migrate())
  afterAll(() => database.close())

  const empty = () => database.exec(TABLES.map((table) => `DELETE FROM svc_db.${table}`).join(';'))
  itEqualsMemory(() => ({ driver, empty }), runs(5, 10))
})
