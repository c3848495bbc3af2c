import { createAttemptId, type StoreDriver } from '@svc/db'
import { expect, it } from 'vitest'
import { confirmCommand, reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon, NOON } from '../../unit/core/settable-clock.js'

/** What a cache relies on: a driver over an empty place names the scopes that each of its writes touched. */
export function itNamesTouchedScopes(driver: () => StoreDriver): void {
  const attempt = (key: string, more: object = {}) => reserveCommand({ key, id: createAttemptId(), ...more })
  const named = (key: string, id: string) => confirmCommand({ key, id, scope: 'user:1' })

  it('its own, also where the work was done before by a call that may have lost its answer', async () => {
    const first = attempt('own')
    const { bucket, key, id } = first
    const upload = { bucket, key, id, uploadId: 'upload', now: NOON }
    for (const time of ['first', 'repeated']) {
      expect(await driver().reserve(first), time).toMatchObject({ outcome: 'reserved', scopes: ['user:1'] })
    }
    for (const time of ['first', 'repeated']) {
      expect(await driver().setUploadId(upload), time).toMatchObject({ outcome: 'set', scopes: ['user:1'] })
    }
    for (const time of ['first', 'repeated']) {
      expect(await driver().confirm(named(key, id)), time).toMatchObject({
        outcome: 'confirmed',
        scopes: ['user:1'],
      })
    }
  })

  it('its own in a batch, also of writes that were made before', async () => {
    const attempts = ['a', 'b', 'c', 'd', 'e'].map((key) => attempt(`batch ${key}`))
    const confirms = attempts.map(({ key, id }) => named(key, id))
    for (const writes of [attempts, attempts]) {
      const answers = await Promise.all(writes.map((command) => driver().reserve(command)))
      expect(answers.map((answer) => 'scopes' in answer && answer.scopes)).toEqual(Array(5).fill(['user:1']))
    }
    for (const writes of [confirms, confirms]) {
      const answers = await Promise.all(writes.map((command) => driver().confirm(command)))
      expect(answers.map((answer) => 'scopes' in answer && answer.scopes)).toEqual(Array(5).fill(['user:1']))
    }
  })

  it('both where a lapsed reservation gives way, alone and in a batch', async () => {
    const keys = ['alone', 'x', 'y', 'z'].map((key) => `lapsed ${key}`)
    for (const key of keys) await driver().reserve(attempt(key))
    const now = afterNoon(120_000)
    const taken = (key: string) =>
      driver().reserve(attempt(key, { scope: 'user:3', now, expiresAt: afterNoon(180_000) }))
    expect(await taken(keys[0]!)).toMatchObject({ scopes: ['user:3', 'user:1'] })
    const [, , ...answers] = await Promise.all(['p', 'q', ...keys.slice(1)].map(taken))
    for (const answer of answers) expect(answer).toMatchObject({ scopes: ['user:3', 'user:1'] })
  })

  it('none where nothing is there', async () => {
    const nothing = { bucket: 'photos', key: 'nothing', now: NOON }
    const answer = { row: null, scopes: [] }
    expect(await driver().release({ ...nothing, id: null, scope: null, uploadId: null })).toEqual(answer)
    expect(await driver().remove({ ...nothing, scope: null, mode: 'hard' })).toEqual(answer)
  })

  it('that of the row where the call names none', async () => {
    const at = (key: string) => ({ bucket: 'photos', key, now: NOON })
    const none = { id: null, scope: null, uploadId: null }
    for (const key of ['released', 'soft', 'hard']) await driver().reserve(attempt(key))
    for (const key of ['soft', 'hard']) {
      expect(await driver().confirm(confirmCommand({ key }))).toMatchObject({ scopes: ['user:1'] })
    }
    expect(await driver().release({ ...at('released'), ...none })).toMatchObject({ scopes: ['user:1'] })
    for (const mode of ['soft', 'hard'] as const) {
      expect(await driver().remove({ ...at(mode), scope: null, mode })).toMatchObject({ scopes: ['user:1'] })
    }
  })

  it('those of the rows that a purge removed', async () => {
    await driver().reserve(attempt('purged', { scope: 'user:4', expiresAt: afterNoon(1) }))
    await driver().reserve(attempt('purged too', { scope: 'user:5', expiresAt: afterNoon(1) }))
    const purge = { scope: null, before: afterNoon(1), limit: 1000, now: afterNoon(1) }
    const { rows, scopes } = await driver().purgeExpired(purge)
    expect(rows.map(({ key }) => key).sort()).toEqual(['purged', 'purged too'])
    expect([...scopes].sort()).toEqual(['user:4', 'user:5'])
  })
}
