import { describe, expect, it } from 'vitest'
import { RowsById } from '../../../../src/adapters/memory/rows-by-id.js'
import { activeRow, deletedRow, idNumber, pendingRow } from '../../core/rows.js'

const ID = idNumber(1)

describe('the rows by id', () => {
  it('find a row of the scope, or of any', () => {
    const rows = new RowsById()
    const row = activeRow({ id: ID })
    rows.add(row)
    expect(rows.find(ID, null)).toBe(row)
    expect(rows.find(ID, 'user:1')).toBe(row)
    expect(rows.find(ID, 'user:2')).toBeNull()
    expect(rows.find(idNumber(2), null)).toBeNull()
  })

  it('find a live row before a deleted one, whichever came first', () => {
    for (const live of [activeRow({ id: ID }), pendingRow({ id: ID })]) {
      for (const order of [
        [live, deletedRow({ id: ID })],
        [deletedRow({ id: ID }), live],
      ]) {
        const rows = new RowsById()
        for (const row of order) rows.add(row)
        expect(rows.find(ID, null)).toBe(live)
      }
    }
  })

  it('keep the other row of an id that two keys use when one of them is deleted', () => {
    const rows = new RowsById()
    const [one, other] = [activeRow({ id: ID }), activeRow({ id: ID, key: 'b.png', scope: 'user:2' })]
    rows.add(one)
    rows.add(other)
    expect(rows.find(ID, 'user:2')).toBe(other)
    rows.delete(one)
    expect(rows.find(ID, null)).toBe(other)
    expect(rows.find(ID, 'user:1')).toBeNull()
    rows.delete(one)
    expect(rows.find(ID, null)).toBe(other)
    rows.delete(other)
    expect(rows.find(ID, null)).toBeNull()
    expect(rows.size).toBe(0)
  })
})
