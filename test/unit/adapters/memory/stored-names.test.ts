import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Leftover, ListStoredQuery } from '@svc/db'
import { StoredNames, storedName, type Naming } from '../../../../src/adapters/memory/stored-names.js'
import { activeRow, idNumber, pendingRow } from '../../core/rows.js'
import { NOON } from '../../core/settable-clock.js'

function leftover(fields: Partial<Leftover> = {}): Leftover {
  return {
    bucket: 'photos',
    key: 'a.png',
    attemptId: idNumber(1),
    scope: 'user:1',
    storageKey: null,
    uploadId: null,
    since: NOON,
    writableUntil: NOON,
    dueAt: null,
    ...fields,
  }
}

function namesOf(...namings: readonly Naming[]): StoredNames {
  const names = new StoredNames()
  for (const naming of namings) names.add(naming)
  return names
}

const query = (fields: Partial<ListStoredQuery> = {}): ListStoredQuery => ({
  bucket: 'photos',
  prefix: null,
  after: null,
  limit: 100,
  ...fields,
})

/** Few names, so that several namings share one and one is a prefix of another. */
const name = fc.constantFrom('a', 'a/', 'a/b', 'ab', '\u0001', '\uffff', '\u{10000}', '\u{10000}a')
const naming: fc.Arbitrary<Naming> = fc
  .record({
    kind: fc.constantFrom('active', 'pending', 'leftover'),
    key: name,
    storageKey: fc.option(name),
    number: fc.nat({ max: 20 }),
  })
  .map(({ kind, key, storageKey, number }) => {
    const id = idNumber(number)
    if (kind === 'leftover') return leftover({ key, storageKey, attemptId: id })
    return kind === 'active' ? activeRow({ id, key, storageKey }) : pendingRow({ id, key, storageKey })
  })

/** What a database allows once: an active and a pending row at each key, and a leftover of each attempt. */
function identity(item: Naming): string {
  return 'status' in item ? `${item.status} ${item.key}` : item.attemptId
}
const namings = fc.uniqueArray(naming, { selector: identity, maxLength: 40 })

const inOrder = (one: Naming, other: Naming) =>
  Buffer.compare(Buffer.from(storedName(one)), Buffer.from(storedName(other)))

describe('the stored names, compared with a sorted array,', () => {
  it('return the same page, with all items of its last name', () => {
    const page = fc.record({
      bucket: fc.constant('photos'),
      prefix: fc.option(name),
      after: fc.option(name),
      limit: fc.integer({ min: 1, max: 8 }),
    })
    fc.assert(
      fc.property(namings, page, (all, asked) => {
        const after = asked.after
        const matching = all
          .filter((item) => storedName(item).startsWith(asked.prefix ?? ''))
          .filter(
            (item) => after === null || Buffer.compare(Buffer.from(storedName(item)), Buffer.from(after)) > 0,
          )
          .sort(inOrder)
        const last = matching[asked.limit - 1]
        const expected = last ? matching.filter((item) => inOrder(item, last) <= 0) : matching
        const found = namesOf(...all).page(asked)
        expect(found.map(storedName)).toEqual(expected.map(storedName))
        expect(new Set(found)).toEqual(new Set(expected))
      }),
      { numRuns: 500 },
    )
  })

  it('return all items page by page', () => {
    fc.assert(
      fc.property(namings, fc.integer({ min: 1, max: 5 }), (all, limit) => {
        const names = namesOf(...all)
        const found: Naming[] = []
        for (let after: string | null = null; ;) {
          const page = names.page(query({ after, limit }))
          found.push(...page)
          if (page.length < limit) break
          after = storedName(page.at(-1)!)
        }
        expect(found).toHaveLength(all.length)
        expect(new Set(found)).toEqual(new Set(all))
      }),
    )
  })

  it('are empty once everything was deleted', () => {
    fc.assert(
      fc.property(namings, (all) => {
        const names = namesOf(...all)
        for (const item of all) names.delete(item)
        expect(names.buckets).toBe(0)
      }),
    )
  })
})

describe('the stored names', () => {
  it('are those of one bucket', () => {
    const here = activeRow({ storageKey: 'stored' })
    const there = activeRow({ storageKey: 'stored', bucket: 'other' })
    const names = namesOf(here, there)
    expect(names.page(query())).toEqual([here])
    expect(names.named('other', 'stored', 2)).toEqual([there])
    expect(names.page(query({ bucket: 'unknown' }))).toEqual([])
    names.delete(there)
    expect(names.buckets).toBe(1)
  })

  it('return those with one name: active rows by key, pending rows by key, then leftovers', () => {
    const storageKey = 'stored'
    const rows = [
      activeRow({ key: 'b', storageKey }),
      activeRow({ key: '\uffff', storageKey }),
      activeRow({ key: '\u{10000}', storageKey }),
      activeRow({ key: storageKey }),
      pendingRow({ key: 'a', storageKey }),
      leftover({ key: 'a', storageKey }),
    ]
    const names = namesOf(...rows.toReversed(), activeRow({ key: 'stored2' }), activeRow({ key: 'store' }))
    const [first, ...others] = [rows[0]!, rows[3]!, rows[1]!, rows[2]!, rows[4]!, rows[5]!]
    expect(names.named('photos', storageKey, 100)).toEqual([first, ...others])
    expect(names.named('photos', storageKey, 1)).toEqual([first])
    expect(names.named('photos', 'stor', 1)).toEqual([])
  })
})
