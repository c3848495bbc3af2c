import { expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { partsOf } from '../../../../src/core/store/store-parts.js'
import { recordingDriver } from './recording-driver.js'

it('a store remembers its driver and its clock', () => {
  const { driver } = recordingDriver()
  const now = () => new Date(5)
  const parts = partsOf(createStore(driver, { now }))
  expect(parts?.driver).toBe(driver)
  expect(parts?.now()).toEqual(new Date(5))
})

it('in a property that is neither enumerable nor copied', () => {
  const store = createStore(recordingDriver().driver)
  expect(Object.values(store).every((value) => typeof value === 'function')).toBe(true)
  expect(partsOf({ ...store })).toBeNull()
})

it('also for another copy of the library', () => {
  const { driver } = recordingDriver()
  const parts = { driver, now: () => new Date() }
  expect(partsOf({ [Symbol.for('@svc/db/driver')]: parts })).toBe(parts)
})

it.each([null, undefined, 'store', 5, {}, () => {}])('%o has none', (value) => {
  expect(partsOf(value)).toBeNull()
})
