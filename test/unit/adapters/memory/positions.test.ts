import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { datePosition, endOfDate } from '../../../../src/adapters/memory/positions.js'

const date = fc.date({
  min: new Date('0001-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})
const id = fc.uuid({ version: 7 })

describe('the position of a row', () => {
  it('sorts by its date from the first to the last that there is, then by its id', () => {
    fc.assert(
      fc.property(date, id, fc.oneof(date, fc.constant(null)), id, (one, oneId, other, otherId) => {
        const otherDate = other ?? one
        const expected =
          one.getTime() - otherDate.getTime() || (oneId < otherId ? -1 : oneId > otherId ? 1 : 0)
        const [first, second] = [datePosition(one, oneId), datePosition(otherDate, otherId)]
        expect(Math.sign(first < second ? -1 : first > second ? 1 : 0)).toBe(Math.sign(expected))
      }),
    )
  })

  it('lies before the end of its date, and behind the end of the millisecond before', () => {
    const later = date.filter((value) => value.getTime() > new Date('0001-01-01T00:00:00.000Z').getTime())
    fc.assert(
      fc.property(later, id, (value, rowId) => {
        expect(datePosition(value, rowId) < endOfDate(value)).toBe(true)
        expect(datePosition(value, rowId) > endOfDate(new Date(value.getTime() - 1))).toBe(true)
      }),
    )
  })
})
