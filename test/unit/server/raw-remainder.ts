import { expect } from 'vitest'
import { OTHER } from './scope-to-erase.js'
import { OWNER } from './world.js'

/** A row or document as it is stored. */
export type RawRow = Readonly<Record<string, unknown>>

/** Everything in a database as it is stored, by table or collection. */
export type RawDatabase = Readonly<Record<string, readonly RawRow[]>>

/**
 * Returns what is stored of the erased scope: the rows that contain its name anywhere, keys included. The other scope has an
 * object under a key of the erased one, so the rows that name only that scope as their owner don't count.
 */
export function rowsOfErased(database: RawDatabase): Record<string, readonly RawRow[]> {
  const found = Object.entries(database)
    .map(([table, rows]) => [table, rows.filter(namesErased)] as const)
    .filter(([, rows]) => rows.length > 0)
  return Object.fromEntries(found)
}

function namesErased(row: RawRow): boolean {
  const text = JSON.stringify(row)
  return text.includes(OWNER) && !text.includes(OTHER)
}

/** Expects a row of sums, all of which are zero. */
export function expectZeros({ bytes, files, ...row }: RawRow): void {
  expect([bytes, files]).toEqual([0, 0])
  expect(Object.values(row).filter((value) => typeof value === 'number' && value !== 0)).toEqual([])
}
