import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RecentEntries } from '../../../src/core/recent-entries.js'

const LEAST = 3
const NAMES = Array.from('abcdefghij')

type Call = { readonly name: string; readonly value: number | null }

const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({ name: fc.constantFrom(...NAMES), value: fc.option(fc.integer()) }),
  { maxLength: 40 },
)

it('keeps the latest entries that were set, less those deleted, and never more than twice as many', () => {
  fc.assert(
    fc.property(calls, (program) => {
      const entries = new RecentEntries<number>(LEAST)
      // In the order in which they were set. One that was deleted keeps its place.
      const expected = new Map<string, number | null>()
      for (const { name, value } of program) {
        if (value === null) {
          entries.delete(name)
          if (expected.has(name)) expected.set(name, null)
        } else {
          entries.set(name, value)
          expected.delete(name)
          expected.set(name, value)
        }
        const latest = [...expected].slice(-LEAST)
        expect(latest.map(([latestName]) => [latestName, entries.get(latestName)])).toEqual(latest)
        const older = NAMES.filter(
          (other) => ![null, expected.get(other) ?? null].includes(entries.get(other)),
        )
        expect(older).toEqual([])
        expect(NAMES.filter((kept) => entries.get(kept) !== null).length).toBeLessThanOrEqual(2 * LEAST)
      }
    }),
  )
})
