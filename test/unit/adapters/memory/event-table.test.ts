import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecordedChange, StoredEvent } from '@svc/db'
import { EventTable } from '../../../../src/adapters/memory/event-table.js'
import { isAttemptId } from '../../../../src/core/store/attempt-id.js'
import { activeRow, idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const change = (key: string, number = 1): RecordedChange => ({
  type: 'activated',
  object: activeRow({ key, id: idNumber(number) }),
  previous: null,
})

/** Returns a table with an event of each key, all recorded at noon. */
function tableOf(...keys: readonly string[]): EventTable {
  const table = new EventTable(true)
  keys.forEach((key, number) => table.record(change(key, number), NOON))
  return table
}

const all = { limit: 1000, after: null }
const claiming = (milliseconds = 0, limit = 1000) => ({
  limit,
  reference: null,
  now: afterNoon(milliseconds),
  until: afterNoon(milliseconds + 1000),
})
const keysOf = (events: readonly StoredEvent[]) => events.map(({ object }) => object.key)
const removal = (events: readonly StoredEvent[], now = NOON) => ({
  entries: events.map(({ id, claim }) => ({ id, claim, retryAt: null })),
  now,
})

describe('the table of events', () => {
  it('records nothing if events are off', () => {
    const table = new EventTable(false)
    table.record(change('a'), NOON)
    expect(table.sizes).toEqual({ events: 0, objects: 0, due: 0 })
    expect(table.claim(claiming())).toEqual([])
    expect(table.page(all)).toEqual({ items: [], next: null })
    expect(table.count({ now: NOON })).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
  })

  it('keeps nothing of events that are settled', () => {
    const table = tableOf('a', 'b', 'a', 'b', 'c', 'a')
    expect(table.sizes).toEqual({ events: 6, objects: 3, due: 3 })
    for (const left of [3, 1, 0]) {
      table.settle(removal(table.claim(claiming())))
      expect(table.sizes.events).toBe(left)
    }
    expect(table.sizes).toEqual({ events: 0, objects: 0, due: 0 })
  })

  it('keeps one due entry of each object, however often it is claimed, extended and retried', () => {
    const table = tableOf('a', 'a', 'b')
    for (let time = 0; time < 5000; time += 1000) {
      const claimed = table.claim(claiming(time))
      expect(keysOf(claimed).sort()).toEqual(['a', 'b'])
      const entries = claimed.map(({ id, claim }) => ({ id, claim }))
      table.extend({ entries, until: afterNoon(time + 2000) })
      table.settle({
        entries: entries.map((entry) => ({ ...entry, retryAt: afterNoon(time + 1000) })),
        now: afterNoon(time),
      })
      expect(table.sizes).toEqual({ events: 3, objects: 2, due: 2 })
    }
  })

  it('makes the next event of an object due when it was recorded, before later ones of other objects', () => {
    const table = tableOf('a', 'a')
    table.record(change('b'), afterNoon(5))
    const [first] = table.claim(claiming(5, 1))
    table.settle(removal([first!]))
    expect(keysOf(table.claim(claiming(5)))).toEqual(['a', 'b'])
  })

  it('claims events to the millisecond', () => {
    const table = tableOf('a')
    expect(table.claim(claiming(-1))).toEqual([])
    expect(table.claim(claiming(0))).toHaveLength(1)
    expect(table.claim(claiming(999))).toEqual([])
    expect(table.claim(claiming(1000))).toMatchObject([{ attempts: 2 }])
  })

  it('finds the oldest event of an object only while it is due', () => {
    const table = tableOf('b', 'a', 'a')
    const ofKey = (key: string, milliseconds = 0) =>
      table.claim({ ...claiming(milliseconds), reference: { bucket: 'photos', key } })
    expect(ofKey('unknown')).toEqual([])
    expect(ofKey('a', -1)).toEqual([])
    const [oldest] = table.page(all).items.filter(({ object }) => object.key === 'a')
    expect(ofKey('a')).toMatchObject([{ id: oldest!.id }])
    expect(ofKey('a')).toEqual([])
    expect(keysOf(ofKey('b'))).toEqual(['b'])
  })

  it('ignores claims that were replaced, settled or never made', () => {
    const table = tableOf('a')
    const [old] = table.claim(claiming(0))
    const [current] = table.claim(claiming(1000))
    expect(table.settle(removal([old!]))).toEqual([])
    const until = afterNoon(9000)
    expect(table.extend({ entries: [{ id: old!.id, claim: old!.claim }], until })).toEqual([])
    for (const claim of ['', 'claim', idNumber(1), '{}']) {
      expect(table.settle(removal([{ ...current!, claim }]))).toEqual([])
      expect(table.settle(removal([{ ...current!, id: claim }]))).toEqual([])
    }
    expect(table.settle(removal([current!]))).toEqual([current!.id])
    expect(table.settle(removal([current!]))).toEqual([])
  })

  it('gives each event an id, and each claim a token, that sort by time', () => {
    const table = tableOf('a', 'b', 'a')
    const ids = table.page(all).items.map(({ id }) => id)
    expect(ids.every(isAttemptId)).toBe(true)
    expect(ids).toEqual([...ids].sort())
    const claims = [...table.claim(claiming()), ...table.claim(claiming(1000))].map(({ claim }) => claim)
    expect(new Set([...ids, ...claims]).size).toBe(7)
  })

  it('lists events page by page, in the order of recording, and refuses a foreign position', () => {
    const table = tableOf('a', 'b', 'a', 'c')
    const keys: string[] = []
    let after: string | null = null
    do {
      const page = table.page({ limit: 2, after })
      keys.push(...page.items.map(({ object }) => object.key))
      after = page.next
    } while (after !== null)
    expect(keys).toEqual(['a', 'b', 'a', 'c'])
    for (const position of ['x', `${idNumber(1)}0`]) {
      expect(() => table.page({ limit: 2, after: position })).toThrow(
        expect.objectContaining({ code: 'INVALID_CURSOR' }) as Error,
      )
    }
  })
})

describe('a position in the list of events', () => {
  it('stays valid when its event is settled', () => {
    const table = tableOf('a', 'b', 'a', 'c')
    const { next } = table.page({ limit: 2, after: null })
    table.settle(removal(table.claim({ ...claiming(), reference: { bucket: 'photos', key: 'b' } })))
    const page = table.page({ limit: 2, after: next })
    expect(page.items.map(({ object }) => object.key)).toEqual(['a', 'c'])
    expect(page.next).toBeNull()
  })
})

interface Step {
  readonly act: 'record' | 'claim' | 'settle' | 'retry' | 'extend'
  readonly key: string
  readonly limit: number
  readonly wait: number
}

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('record', 'record', 'claim', 'claim', 'settle', 'retry', 'extend'),
  key: fc.constantFrom('a', 'b', 'c'),
  limit: fc.integer({ min: 1, max: 4 }),
  wait: fc.constantFrom(0, 0, 1, 500, 1000, 5000),
})

interface Expected {
  readonly key: string
  dueAt: number
  claimedUntil: number | null
  attempts: number
}

it('the table of events behaves like a plain list of them', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const table = new EventTable(true)
      const model: Expected[] = []
      const claims = new Map<
        string,
        { readonly event: Expected; readonly id: string; readonly claim: string }
      >()
      const isOldest = (event: Expected) => model.find(({ key }) => key === event.key) === event
      let time = 0
      for (const { act, key, limit, wait } of steps) {
        time += wait
        const now = afterNoon(time)
        if (act === 'record') {
          table.record(change(key), now)
          model.push({ key, dueAt: time, claimedUntil: null, attempts: 0 })
        } else if (act === 'claim') {
          const found = table.claim(claiming(time, limit))
          const due = model.filter((event) => event.dueAt <= time && isOldest(event))
          expect(found).toHaveLength(Math.min(limit, due.length))
          const latest = due.map(({ dueAt }) => dueAt).sort((a, b) => a - b)[found.length - 1]
          for (const { id, object, claim, attempts } of found) {
            const event = due.find((candidate) => candidate.key === object.key)!
            expect(event.dueAt).toBeLessThanOrEqual(latest!)
            Object.assign(event, {
              dueAt: time + 1000,
              claimedUntil: time + 1000,
              attempts: event.attempts + 1,
            })
            expect(attempts).toBe(event.attempts)
            claims.set(event.key, { event, id, claim })
          }
        } else {
          const held = claims.get(key)
          if (!held) continue
          const { event, id, claim } = held
          const dueAt = time + limit * 300
          if (act === 'extend') {
            expect(table.extend({ entries: [{ id, claim }], until: afterNoon(dueAt) })).toEqual([id])
            Object.assign(event, { dueAt, claimedUntil: dueAt })
            continue
          }
          const retryAt = act === 'retry' ? afterNoon(dueAt) : null
          expect(table.settle({ entries: [{ id, claim, retryAt }], now })).toEqual([id])
          claims.delete(key)
          if (retryAt) Object.assign(event, { dueAt, claimedUntil: null })
          else model.splice(model.indexOf(event), 1)
        }
      }
      const listed = table.page(all).items.map(({ object, dueAt, claimedUntil, attempts }) => ({
        key: object.key,
        dueAt: dueAt.getTime() - NOON.getTime(),
        claimedUntil: claimedUntil && claimedUntil.getTime() - NOON.getTime(),
        attempts,
      }))
      expect(listed).toEqual(model)
      const claimed = model.filter(({ claimedUntil }) => claimedUntil !== null && claimedUntil > time).length
      const waiting = model.filter(({ attempts }) => attempts === 0).length
      expect(table.count({ now: afterNoon(time) })).toEqual({
        waiting,
        claimed,
        retrying: model.length - claimed - waiting,
      })
    }),
    { numRuns: 300 },
  )
})
