import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LowWaterMark } from '../../../../src/adapters/postgres/low-water-mark.js'

const FULL_LOOK_EVERY = 60_000
const MINUTE = 60_000
const START = Date.UTC(2030, 0, 1)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'], now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Entry {
  readonly time: number
  readonly committedAt: number
  readonly isOwn: boolean
}

/** An index by time in a database, as processes see it. */
class Index {
  entries: Entry[] = []

  /** Returns the entries in a range, the first first. */
  between(from: number, upto: number): Entry[] {
    return this.entries.filter(({ time }) => time >= from && time <= upto).sort((a, b) => a.time - b.time)
  }
}

async function look(mark: LowWaterMark, index: Index, upto: number, meanwhile = () => {}): Promise<Entry[]> {
  const { result } = await mark.look(upto, async (from) => {
    const found = index.between(from, upto)
    meanwhile()
    return { result: found, first: found[0]?.time ?? null }
  })
  return result
}

const age = fc.integer({ min: -10, max: 10 }).map((minutes) => minutes * 30_000)
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), skew: age }) },
    // Commits at once, but is due at a time of its own: by another clock, late, or made due earlier.
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('own', 'other', 'meanwhile'), age }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), place: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 45 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  ),
  { maxLength: 60 },
)

it('finds its own entries and recent ones at once, and those that others backdated within a minute', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const index = new Index()
      let mark = new LowWaterMark(FULL_LOOK_EVERY)
      // Earlier scripts have moved the clock.
      let now = Date.now()
      const add = (time: number, isOwn: boolean) => {
        index.entries.push({ time, committedAt: now, isOwn })
        if (isOwn) mark.lower(time)
      }
      for (const step of script) {
        if (step.kind === 'own' || step.kind === 'other') add(now - step.age, step.kind === 'own')
        if (step.kind === 'meanwhile') {
          const time = now - step.age
          await look(mark, index, now, () => add(time, true))
        }
        if (step.kind === 'end' && index.entries.length > 0) {
          index.entries.splice(step.place % index.entries.length, 1)
        }
        if (step.kind === 'wait') {
          now += step.seconds * 1000
          vi.advanceTimersByTime(step.seconds * 1000)
        }
        if (step.kind === 'restart') {
          mark = new LowWaterMark(FULL_LOOK_EVERY)
        }
        if (step.kind !== 'look') continue
        const upto = now + step.skew
        const found = await look(mark, index, upto)
        const due = index.between(-Infinity, upto)
        const certain = due.filter(
          ({ isOwn, time, committedAt }) =>
            isOwn || time >= committedAt - MINUTE || committedAt <= now - FULL_LOOK_EVERY,
        )
        expect(found).toEqual(expect.arrayContaining(certain))
      }
    }),
    { numRuns: 300 },
  )
})

it('finds at once what another process made due up to a minute ago', async () => {
  const index = new Index()
  const mark = new LowWaterMark(FULL_LOOK_EVERY)
  expect(await look(mark, index, START)).toEqual([])
  for (const time of [START, START - MINUTE]) {
    index.entries = [{ time, committedAt: START, isOwn: false }]
    expect(await look(mark, index, START)).toHaveLength(1)
  }
})

it('starts at the first open entry, and once a minute at the beginning', async () => {
  const mark = new LowWaterMark(FULL_LOOK_EVERY)
  const starts: number[] = []
  const lookFrom = (first: number | null, upto = START) =>
    mark.look(upto, async (from) => {
      starts.push(from)
      return { result: null, first }
    })
  await lookFrom(START - 5 * MINUTE)
  await lookFrom(null)
  await lookFrom(null)
  vi.advanceTimersByTime(59_999)
  await lookFrom(null)
  vi.advanceTimersByTime(1)
  await lookFrom(null)
  await lookFrom(null, START - MINUTE)
  await lookFrom(null)
  expect(starts).toEqual([
    -Infinity,
    START - 6 * MINUTE,
    START - MINUTE,
    START - MINUTE,
    -Infinity,
    -Infinity,
    START - MINUTE,
  ])
})

it('starts at the beginning again after a look that failed there', async () => {
  const mark = new LowWaterMark(FULL_LOOK_EVERY)
  const starts: number[] = []
  const failing = (from: number) => {
    starts.push(from)
    return Promise.reject(new Error('no response'))
  }
  await expect(mark.look(START, failing)).rejects.toThrow('no response')
  await expect(mark.look(START, failing)).rejects.toThrow('no response')
  expect(starts).toEqual([-Infinity, -Infinity])
})
