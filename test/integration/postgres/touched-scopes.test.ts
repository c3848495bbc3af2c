import { createAttemptId, type StoreDriver } from '@svc/db'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { createPostgresDriver } from '../../../src/adapters/postgres/postgres-driver.js'
import { schemaName } from '../../../src/adapters/postgres/schema/schema-name.js'
import { confirmCommand, reserveCommand } from '../../unit/core/lifecycle/commands.js'
import { afterNoon, NOON } from '../../unit/core/settable-clock.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './places.js'

describePostgres('the driver names the scopes that a write touched:', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  const database = pgDatabase(pool, { named: true })
  const driver: StoreDriver = createPostgresDriver({
    database,
    readDatabase: database,
    schema: schemaName('postgresAdapter', schema),
  })
  beforeAll(() => driver.migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  const attempt = (key: string, more: object = {}) => reserveCommand({ key, id: createAttemptId(), ...more })
  const named = (key: string, id: string) => confirmCommand({ key, id, scope: 'user:1' })

  it('its own, also where the work was done before by a call that may have lost its answer', async () => {
    const first = attempt('own')
    const { bucket, key, id } = first
    const upload = { bucket, key, id, uploadId: 'upload', now: NOON }
    for (const time of ['first', 'repeated']) {
      expect(await driver.reserve(first), time).toMatchObject({ outcome: 'reserved', scopes: ['user:1'] })
    }
    for (const time of ['first', 'repeated']) {
      expect(await driver.setUploadId(upload), time).toMatchObject({ outcome: 'set', scopes: ['user:1'] })
    }
    for (const time of ['first', 'repeated']) {
      expect(await driver.confirm(named(key, id)), time).toMatchObject({
        outcome: 'confirmed',
        scopes: ['user:1'],
      })
    }
  })

  it('its own in a batch, also of writes that were made before', async () => {
    const attempts = ['a', 'b', 'c', 'd', 'e'].map((key) => attempt(`batch ${key}`))
    const confirms = attempts.map(({ key, id }) => named(key, id))
    for (const writes of [attempts, attempts]) {
      const answers = await Promise.all(writes.map((command) => driver.reserve(command)))
      expect(answers.map((answer) => 'scopes' in answer && answer.scopes)).toEqual(Array(5).fill(['user:1']))
    }
    for (const writes of [confirms, confirms]) {
      const answers = await Promise.all(writes.map((command) => driver.confirm(command)))
      expect(answers.map((answer) => 'scopes' in answer && answer.scopes)).toEqual(Array(5).fill(['user:1']))
    }
  })

  it('both where a lapsed reservation gives way, alone and in a batch', async () => {
    const keys = ['alone', 'x', 'y', 'z'].map((key) => `lapsed ${key}`)
    for (const key of keys) await driver.reserve(attempt(key))
    const now = afterNoon(120_000)
    const taken = (key: string) =>
      driver.reserve(attempt(key, { scope: 'user:3', now, expiresAt: afterNoon(180_000) }))
    expect(await taken(keys[0]!)).toMatchObject({ scopes: ['user:3', 'user:1'] })
    const [, , ...answers] = await Promise.all(['p', 'q', ...keys.slice(1)].map(taken))
    for (const answer of answers) expect(answer).toMatchObject({ scopes: ['user:3', 'user:1'] })
  })

  it('none where nothing is there', async () => {
    const nothing = { bucket: 'photos', key: 'nothing', now: NOON }
    const answer = { row: null, scopes: [] }
    expect(await driver.release({ ...nothing, id: null, scope: null, uploadId: null })).toEqual(answer)
    expect(await driver.remove({ ...nothing, scope: null, mode: 'hard' })).toEqual(answer)
  })
})
