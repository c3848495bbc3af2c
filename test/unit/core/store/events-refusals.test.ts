import { describe, expect, it } from 'vitest'
import { createStore, type StorageError, type StorageObjectStore } from '@svc/db'
import { encodeCursor } from '../../../../src/core/store/cursor.js'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver } from './recording-driver.js'

const CLAIM = { id: 'event', claim: 'claim' }
const TEXT = ['', 5, 'a\0', '\ud800', {}, 'x'.repeat(101), null, undefined]

type Method = 'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents'

/** Returns the error of a call, which must not reach the driver. */
async function refusalOf(method: Method, ...args: readonly unknown[]): Promise<StorageError> {
  const { driver, calls } = recordingDriver()
  const store = createStore(driver, { now: () => NOON }) as Pick<StorageObjectStore, Method>
  const untyped = store as unknown as Record<Method, (...args: readonly unknown[]) => Promise<unknown>>
  const error: unknown = await untyped[method](...args).then(
    () => 'no error',
    (thrown: unknown) => thrown,
  )
  expect(calls).toEqual([])
  return error as StorageError
}

const refusing = (field: string) => ({
  code: 'VALIDATION_ERROR',
  params: { field },
  message: expect.stringMatching(new RegExp(`^${field.replace(/[[\]]/g, '\\$&')} .+\\.$`)) as string,
})

describe.each(['settleEvents', 'extendClaims'] as const)('%s', (method) => {
  it('refuses entries that are not an array of objects', async () => {
    for (const entries of [null, undefined, 'a', {}, new Set([CLAIM])]) {
      expect(await refusalOf(method, entries)).toMatchObject(refusing('entries'))
    }
    for (const entry of [null, undefined, 'a', 5]) {
      expect(await refusalOf(method, [CLAIM, entry])).toMatchObject(refusing('entries[1]'))
    }
    // eslint-disable-next-line no-sparse-arrays -- an array may have holes
    expect(await refusalOf(method, [CLAIM, , CLAIM])).toMatchObject(refusing('entries[1]'))
  })

  it('refuses more than 1000 entries', async () => {
    const entries = Array.from({ length: 1001 }, (_, number) => ({ ...CLAIM, id: `event ${number}` }))
    expect(await refusalOf(method, entries)).toMatchObject(refusing('entries'))
  })

  it('refuses two entries of one event', async () => {
    const entries = [CLAIM, { id: 'other', claim: 'a' }, { id: 'event', claim: 'b' }]
    const error = await refusalOf(method, entries)
    expect(error).toMatchObject(refusing('entries[2].id'))
    expect(error.message).toBe('entries[2].id must differ from entries[0].id (got "event" twice).')
  })

  it('refuses bad texts by index and name', async () => {
    const other = { id: 'other', claim: 'a' }
    for (const text of TEXT) {
      const bad = [other, { ...CLAIM, id: text }]
      expect(await refusalOf(method, bad)).toMatchObject(refusing('entries[1].id'))
      const badClaim = [{ ...CLAIM, claim: text }, other]
      expect(await refusalOf(method, badClaim)).toMatchObject(refusing('entries[0].claim'))
    }
  })
})

describe('settleEvents', () => {
  it('refuses a retry at a bad date', async () => {
    for (const retryAt of [0, '2026-03-01', new Date(NaN), new Date('+010000-01-01T00:00:00.000Z')]) {
      expect(await refusalOf('settleEvents', [{ ...CLAIM, retryAt }])).toMatchObject(
        refusing('entries[0].retryAt'),
      )
    }
  })
})

describe('extendClaims', () => {
  it('refuses bad options', async () => {
    for (const claimSeconds of [0, 3601, 1.5, '5', NaN]) {
      expect(await refusalOf('extendClaims', [CLAIM], { claimSeconds })).toMatchObject(
        refusing('claimSeconds'),
      )
    }
    expect(await refusalOf('extendClaims', [CLAIM], 5)).toMatchObject(refusing('options'))
  })
})

describe('claimEvents', () => {
  it('refuses a bucket without a key, and a key without a bucket', async () => {
    expect(await refusalOf('claimEvents', { bucket: 'photos' })).toMatchObject(refusing('key'))
    expect(await refusalOf('claimEvents', { key: 'a.png', bucket: null })).toMatchObject(refusing('bucket'))
  })
})

describe('listEvents', () => {
  it('refuses what is no cursor of an event list, with INVALID_CURSOR', async () => {
    for (const after of ['', 5, {}, 'x', 'x'.repeat(201), encodeCursor(idNumber(1))]) {
      expect(await refusalOf('listEvents', { after })).toMatchObject({ code: 'INVALID_CURSOR' })
    }
  })
})
