import { createAttemptId } from '@svc/db'
import type { StoreDriver } from '@svc/db/adapter'
import { expect, it } from 'vitest'
import { confirmCommand, reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon, NOON } from '../../unit/core/settable-clock.js'

/** Tests what a cache relies on: the writes of a driver over an empty database report the scopes they touched. */
export function itNamesTouchedScopes(driver: () => StoreDriver): void {
  const attempt = (key: string, more: object = {}) => reserveCommand({ key, id: createAttemptId(), ...more })
  const confirmation = (key: string, id: string) => confirmCommand({ key, id, scope: 'user:1' })

  it('a write of one scope, and a repeat of it whose first response may have been lost', async () => {
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
      expect(await driver().confirm(confirmation(key, id)), time).toMatchObject({
        outcome: 'confirmed',
        scopes: ['user:1'],
      })
    }
  })

  it('writes in a batch, repeated or not', async () => {
    const attempts = ['a', 'b', 'c', 'd', 'e'].map((key) => attempt(`batch ${key}`))
    const confirms = attempts.map(({ key, id }) => confirmation(key, id))
    for (const writes of [attempts, attempts]) {
      const results = await Promise.all(writes.map((command) => driver().reserve(command)))
      expect(results.map((result) => 'scopes' in result && result.scopes)).toEqual(Array(5).fill(['user:1']))
    }
    for (const writes of [confirms, confirms]) {
      const results = await Promise.all(writes.map((command) => driver().confirm(command)))
      expect(results.map((result) => 'scopes' in result && result.scopes)).toEqual(Array(5).fill(['user:1']))
    }
  })

  it('a reserve that replaces an expired reservation of another scope, alone and in a batch', async () => {
    const keys = ['alone', 'x', 'y', 'z'].map((key) => `expired ${key}`)
    for (const key of keys) await driver().reserve(attempt(key))
    const now = afterNoon(120_000)
    const takeOver = (key: string) =>
      driver().reserve(attempt(key, { scope: 'user:3', now, expiresAt: afterNoon(180_000) }))
    expect(await takeOver(keys[0]!)).toMatchObject({ scopes: ['user:3', 'user:1'] })
    const [, , ...results] = await Promise.all(['p', 'q', ...keys.slice(1)].map(takeOver))
    for (const result of results) expect(result).toMatchObject({ scopes: ['user:3', 'user:1'] })
  })

  it('a write that finds nothing: none', async () => {
    const nothing = { bucket: 'photos', key: 'nothing', now: NOON }
    const unchanged = { row: null, scopes: [] }
    expect(await driver().release({ ...nothing, id: null, scope: null, uploadId: null })).toEqual(unchanged)
    expect(await driver().remove({ ...nothing, scope: null, attemptId: null, mode: 'hard' })).toEqual(
      unchanged,
    )
  })

  it('a write without a scope: that of the row', async () => {
    const at = (key: string) => ({ bucket: 'photos', key, now: NOON })
    const none = { id: null, scope: null, uploadId: null }
    const any = { scope: null, attemptId: null }
    for (const key of ['released', 'soft', 'hard']) await driver().reserve(attempt(key))
    for (const key of ['soft', 'hard']) {
      expect(await driver().confirm(confirmCommand({ key }))).toMatchObject({ scopes: ['user:1'] })
    }
    expect(await driver().release({ ...at('released'), ...none })).toMatchObject({ scopes: ['user:1'] })
    for (const mode of ['soft', 'hard'] as const) {
      expect(await driver().remove({ ...at(mode), ...any, mode })).toMatchObject({ scopes: ['user:1'] })
    }
  })

  it('a purge: those of the removed rows', async () => {
    await driver().reserve(attempt('purged', { scope: 'user:4', expiresAt: afterNoon(1) }))
    await driver().reserve(attempt('purged too', { scope: 'user:5', expiresAt: afterNoon(1) }))
    const purge = { scope: null, before: afterNoon(1), limit: 1000, now: afterNoon(1) }
    const { rows, scopes } = await driver().purgeExpired(purge)
    expect(rows.map(({ key }) => key).sort()).toEqual(['purged', 'purged too'])
    expect([...scopes].sort()).toEqual(['user:4', 'user:5'])
  })
}
