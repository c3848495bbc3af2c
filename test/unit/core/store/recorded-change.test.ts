import { expect, it } from 'vitest'
import { recordedChange } from '@svc/db/adapter'
import { activeRow, idNumber } from '../rows.js'

const object = activeRow({ id: idNumber(1) })
const previous = activeRow({ id: idNumber(1), scope: 'user:2' })

it.each([
  ['activated', null],
  ['activated', previous],
  ['updated', previous],
  ['transferred', previous],
  ['deleted', null],
  ['arrived', null],
  ['arrived', previous],
] as const)('builds the change of an event: %s', (type, before) => {
  expect(recordedChange(type, object, before)).toStrictEqual({ type, object, previous: before })
})

it.each([null, 'a virus'])('builds the change of a verdict: %s', (reason) => {
  const change = { type: 'rejected', object, previous: null, reason }
  expect(recordedChange('rejected', object, null, reason)).toStrictEqual(change)
})

it.each([
  ['updated', null, 'without'],
  ['transferred', null, 'without'],
  ['deleted', previous, 'with'],
  ['rejected', previous, 'with'],
  ['moved', previous, 'with'],
] as const)('refuses fields that no event has together: %s', (type, before, has) => {
  const message = `The database contains an event of type "${type}" ${has} a previous row.`
  expect(() => recordedChange(type, object, before)).toThrow(new TypeError(message))
})
