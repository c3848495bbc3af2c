import { describe, expect, it } from 'vitest'
import { createStore, type ClaimEventsInput, type ListEventsInput, type StorageObjectStore } from '@svc/db'
import { afterNoon, NOON } from '../settable-clock.js'
import { encodeEventCursor } from '../../../../src/core/store/cursor.js'
import { describeInput, inputOf, RESULTS } from './driver-inputs.js'
import { recordingDriver } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const CLAIM = { id: 'event', claim: 'claim' }

describeInput<ClaimEventsInput | undefined>('claimEvents', (store, input) => store.claimEvents(input), {
  least: undefined,
  nulls: { limit: null, claimSeconds: null, bucket: null, key: null },
  leastResolved: { limit: 100, reference: null, now: NOON, until: afterNoon(60_000) },
  most: { limit: 1000, claimSeconds: 3600, ...REFERENCE },
  mostResolved: { limit: 1000, reference: REFERENCE, now: NOON, until: afterNoon(3_600_000) },
})

describeInput<ListEventsInput | undefined>('listEvents', (store, input) => store.listEvents(input), {
  least: undefined,
  nulls: { limit: null, after: null },
  leastResolved: { limit: 100, after: null },
  most: { limit: 1000, after: encodeEventCursor('x'.repeat(100)) },
  mostResolved: { limit: 1000, after: 'x'.repeat(100) },
})

describe('the driver input', () => {
  it.each<[string, (store: StorageObjectStore) => Promise<unknown>, unknown]>([
    [
      'settleEvents',
      (store) => store.settleEvents([CLAIM]),
      { entries: [{ ...CLAIM, retryAt: null }], now: NOON },
    ],
    [
      'settleEvents with and without a retry',
      (store) =>
        store.settleEvents([
          { ...CLAIM, retryAt: afterNoon(5) },
          { id: 'other', claim: 'claim', retryAt: null },
        ]),
      {
        entries: [
          { ...CLAIM, retryAt: afterNoon(5) },
          { id: 'other', claim: 'claim', retryAt: null },
        ],
        now: NOON,
      },
    ],
    ['extendClaims', (store) => store.extendClaims([CLAIM]), { entries: [CLAIM], until: afterNoon(60_000) }],
    [
      'extendClaims without options',
      (store) => store.extendClaims([CLAIM], { claimSeconds: null }),
      { entries: [CLAIM], until: afterNoon(60_000) },
    ],
    [
      'extendClaims with options',
      (store) => store.extendClaims([CLAIM], { claimSeconds: 1 }),
      { entries: [CLAIM], until: afterNoon(1000) },
    ],
    ['countEvents', (store) => store.countEvents(), { now: NOON }],
  ])('is exact: %s', async (_method, call, expected) => {
    expect(await inputOf(call)).toStrictEqual(expected)
  })

  it('has only the known fields of an entry, such as a claimed event', async () => {
    const claimed = { ...CLAIM, type: 'deleted', attempts: 1 }
    expect(await inputOf((store) => store.settleEvents([claimed]))).toStrictEqual({
      entries: [{ ...CLAIM, retryAt: null }],
      now: NOON,
    })
    expect(await inputOf((store) => store.extendClaims([claimed]))).toMatchObject({ entries: [CLAIM] })
  })

  it('has a copy of the date of a retry', async () => {
    const retryAt = afterNoon(5)
    const input = await inputOf((store) => store.settleEvents([{ ...CLAIM, retryAt }]))
    retryAt.setTime(0)
    expect(input).toMatchObject({ entries: [{ retryAt: afterNoon(5) }] })
  })

  it('has 1000 entries at most', async () => {
    const entries = Array.from({ length: 1000 }, (_, number) => ({ id: `event ${number}`, claim: 'claim' }))
    expect(await inputOf((store) => store.settleEvents(entries))).toMatchObject({
      entries: entries.map((entry) => ({ ...entry, retryAt: null })),
    })
    expect(await inputOf((store) => store.extendClaims(entries))).toMatchObject({ entries })
  })

  it.each(['settleEvents', 'extendClaims'] as const)('is not sent without entries: %s', async (method) => {
    const { driver, calls } = recordingDriver(RESULTS)
    expect(await createStore(driver)[method]([])).toEqual([])
    expect(calls).toEqual([])
  })
})

it('ends claims with the year 9999, the latest date of every database', async () => {
  const { driver, calls } = recordingDriver({ claimEvents: [] })
  const last = new Date('9999-12-31T23:59:59.999Z')
  await createStore(driver, { now: () => new Date(last.getTime() - 1000) }).claimEvents()
  expect(calls.at(-1)).toMatchObject({ args: [{ until: last }] })
})
