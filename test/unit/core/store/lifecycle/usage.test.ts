import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ScopeUsage } from '@svc/db'
import {
  NO_USAGE,
  refuseGrowth,
  sameUsage,
  usageAfter,
  usageOfKey,
} from '../../../../../src/core/store/usage.js'
import { UNLIMITED } from './commands.js'

const MOST = Number.MAX_SAFE_INTEGER
const size = fc.integer({ min: 0, max: 1000 })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value)
const active = maybe(fc.record({ size }))
const pending = maybe(fc.record({ declaredSize: size }))
const usageOfAKey = fc.tuple(active, pending).map(([object, upload]) => usageOfKey(object, upload))

function bytesOf(usage: ScopeUsage): number {
  return usage.bytes + usage.reservedBytes
}

function filesOf(usage: ScopeUsage): number {
  return usage.files + usage.reservedFiles
}

function usage(fields: Partial<ScopeUsage>): ScopeUsage {
  return { ...NO_USAGE, ...fields }
}

describe('the usage of a key', () => {
  it('is zero without rows', () => {
    const nothing = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
    expect(usageOfKey(null, null)).toEqual(nothing)
    expect(NO_USAGE).toEqual(nothing)
  })

  it('counts the bytes and the file of its active row', () => {
    expect(usageOfKey({ size: 7 }, null)).toEqual({ bytes: 7, files: 1, reservedBytes: 0, reservedFiles: 0 })
  })

  it('counts reserved bytes and a reserved file if it is only pending', () => {
    expect(usageOfKey(null, { declaredSize: 7 })).toEqual({
      bytes: 0,
      files: 0,
      reservedBytes: 7,
      reservedFiles: 1,
    })
  })

  it.each([
    [7, 10, 3],
    [7, 7, 0],
    [7, 0, 0],
    [0, 5, 5],
  ])('reserves, for %i bytes that become %i, only the growth of %i', (now, then, growth) => {
    expect(usageOfKey({ size: now }, { declaredSize: then })).toEqual({
      bytes: now,
      files: 1,
      reservedBytes: growth,
      reservedFiles: 0,
    })
  })

  it('counts an unknown size as 0', () => {
    expect(usageOfKey({ size: null }, { declaredSize: null })).toEqual(usage({ files: 1 }))
  })

  it('is in total the largest size of the key before and after its upload', () => {
    fc.assert(
      fc.property(active, pending, (object, upload) => {
        const all = usageOfKey(object, upload)
        expect(bytesOf(all)).toBe(Math.max(object?.size ?? 0, upload?.declaredSize ?? 0))
        expect(filesOf(all)).toBe(object || upload ? 1 : 0)
      }),
    )
  })
})

describe('the usage of a scope', () => {
  it('is the sum of its keys after any changes, and never negative', () => {
    const change = fc.record({ key: fc.nat({ max: 4 }), usage: usageOfAKey })
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const keys = new Map<number, ScopeUsage>()
        let counters = NO_USAGE
        for (const { key, usage: added } of changes) {
          counters = usageAfter(counters, keys.get(key) ?? NO_USAGE, added)
          keys.set(key, added)
          const sum = (field: keyof ScopeUsage) =>
            [...keys.values()].reduce((total, ofKey) => total + ofKey[field], 0)
          expect(counters).toEqual({
            bytes: sum('bytes'),
            files: sum('files'),
            reservedBytes: sum('reservedBytes'),
            reservedFiles: sum('reservedFiles'),
          })
          expect(
            Math.min(...Object.values(counters as unknown as Record<string, number>)),
          ).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })

  it.each(['bytes', 'files', 'reservedBytes', 'reservedFiles'] as const)(
    'differs if its %s differ',
    (field) => {
      const one = { bytes: 1, files: 2, reservedBytes: 3, reservedFiles: 4 }
      expect(sameUsage(one, { ...one })).toBe(true)
      expect(sameUsage(one, { ...one, [field]: 9 })).toBe(false)
    },
  )
})

describe('growth', () => {
  const held = { bytes: 60, files: 3, reservedBytes: 30, reservedFiles: 2 }

  it('can reach the quota exactly', () => {
    const added = usage({ reservedBytes: 10, reservedFiles: 1 })
    expect(refuseGrowth(held, NO_USAGE, added, { maxBytes: 100, maxFiles: 6 })).toBeNull()
  })

  it('is refused one byte over, with the usage and the growth', () => {
    const added = usage({ reservedBytes: 11, reservedFiles: 1 })
    expect(refuseGrowth(held, NO_USAGE, added, { maxBytes: 100, maxFiles: 6 })).toEqual({
      outcome: 'quota-exceeded',
      limit: 'maxBytes',
      max: 100,
      used: 90,
      reserved: 30,
      requested: 11,
    })
  })

  it('is refused one file over, with the usage and the growth', () => {
    const added = usage({ reservedBytes: 10, reservedFiles: 1 })
    expect(refuseGrowth(held, NO_USAGE, added, { maxBytes: 100, maxFiles: 5 })).toEqual({
      outcome: 'quota-exceeded',
      limit: 'maxFiles',
      max: 5,
      used: 5,
      reserved: 2,
      requested: 1,
    })
  })

  it('is refused for bytes first if both limits are exceeded', () => {
    const added = usage({ reservedBytes: 11, reservedFiles: 1 })
    expect(refuseGrowth(held, NO_USAGE, added, { maxBytes: 100, maxFiles: 5 })).toMatchObject({
      limit: 'maxBytes',
    })
  })

  it('is the difference of the usage of the key', () => {
    const before = usage({ bytes: 40, files: 1 })
    const after = usage({ bytes: 40, files: 1, reservedBytes: 10 })
    expect(refuseGrowth(held, before, after, { maxBytes: 100, maxFiles: 0 })).toBeNull()
    expect(refuseGrowth(held, before, after, { maxBytes: 99, maxFiles: 0 })).toMatchObject({ requested: 10 })
  })

  it('is never refused if it is zero, even if the scope is over its quota', () => {
    fc.assert(
      fc.property(usageOfAKey, usageOfAKey, (before, after) => {
        fc.pre(bytesOf(after) <= bytesOf(before) && filesOf(after) <= filesOf(before))
        const scope = usageAfter(held, NO_USAGE, before)
        expect(refuseGrowth(scope, before, after, { maxBytes: 0, maxFiles: 0 })).toBeNull()
      }),
    )
  })

  it('of files is refused even if no byte is added', () => {
    const added = usage({ reservedFiles: 1 })
    expect(refuseGrowth(held, NO_USAGE, added, { maxBytes: 0, maxFiles: 5 })).toMatchObject({
      limit: 'maxFiles',
    })
  })

  it('that is allowed never exceeds a quota that was kept before', () => {
    const quota = fc.record({ maxBytes: maybe(size), maxFiles: maybe(fc.nat({ max: 3 })) })
    fc.assert(
      fc.property(fc.array(usageOfAKey), usageOfAKey, usageOfAKey, quota, (others, before, after, limits) => {
        const scope = others.reduce((sum, one) => usageAfter(sum, NO_USAGE, one), before)
        const grown = usageAfter(scope, before, after)
        const fits = (used: number, max: number | null) => max === null || used <= max
        const keptBefore = fits(bytesOf(scope), limits.maxBytes) && fits(filesOf(scope), limits.maxFiles)
        fc.pre(keptBefore)
        const keptAfter = fits(bytesOf(grown), limits.maxBytes) && fits(filesOf(grown), limits.maxFiles)
        expect(refuseGrowth(scope, before, after, limits) === null).toBe(keptAfter)
      }),
    )
  })

  it('can take the sum to the largest safe integer, and not one byte further', () => {
    const nearlyFull = usage({ bytes: MOST - 5, reservedBytes: 2 })
    expect(refuseGrowth(nearlyFull, NO_USAGE, usage({ bytes: 3 }), UNLIMITED)).toBeNull()
    expect(refuseGrowth(nearlyFull, NO_USAGE, usage({ bytes: 4 }), UNLIMITED)).toEqual({
      outcome: 'sum-too-large',
    })
  })

  it('is checked correctly if the sum is not a safe integer', () => {
    const full = usage({ bytes: MOST })
    expect(refuseGrowth(full, NO_USAGE, usage({ reservedBytes: MOST }), UNLIMITED)).toEqual({
      outcome: 'sum-too-large',
    })
    expect(
      refuseGrowth(full, NO_USAGE, usage({ reservedBytes: MOST }), { maxBytes: MOST, maxFiles: null }),
    ).toMatchObject({ limit: 'maxBytes', used: MOST, requested: MOST })
    expect(refuseGrowth(full, usage({ bytes: MOST }), usage({ bytes: MOST }), UNLIMITED)).toBeNull()
  })

  it('is refused for the quota before the sum', () => {
    const full = usage({ bytes: MOST })
    const added = usage({ reservedBytes: 1, reservedFiles: 1 })
    expect(refuseGrowth(full, NO_USAGE, added, { maxBytes: null, maxFiles: 0 })).toMatchObject({
      limit: 'maxFiles',
    })
  })
})
