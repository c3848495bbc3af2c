import type { ListedEvent, StorageObject, StorageObjectStore } from '@svc/db'
import type { StoredEventType } from '@svc/db/adapter'
import { expect } from 'vitest'
import type { Change } from './load.js'

const EVERY_TYPE = ['activated', 'updated', 'transferred', 'deleted'] as const satisfies StoredEventType[]

/** When events were being turned on, in milliseconds since 1970. Changes meanwhile may or may not be recorded. */
export interface Switching {
  readonly begin: number
  readonly end: number
}

/** Expects one event for each acknowledged change since events are on, none for others, in the order of the changes. */
export async function expectEvents(
  store: StorageObjectStore,
  changes: readonly Change[],
  { begin, end }: Switching,
): Promise<void> {
  // Those of uploads that are checked change no active object.
  const events = (await allEvents(store)).filter(({ object }) => object.status !== 'pending')
  const recorded = countBy(events, ({ type, object }) => changeText(type, object))
  const possible = changes.filter((change) => change.end >= begin)
  const textOf = ({ type, row }: Change) => changeText(type, row)
  const most = countBy(possible, textOf)
  const least = countBy(
    possible.filter((change) => change.isCertain && change.begin > end),
    textOf,
  )
  const names = new Set([...recorded.keys(), ...least.keys()])
  const countsOf = (name: string) => [recorded, least, most].map((counts) => counts.get(name) ?? 0)
  expect(
    [...names].filter((name) => {
      const [count, atLeast, atMost] = countsOf(name)
      return count! < atLeast! || count! > atMost!
    }),
  ).toEqual([])
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(EVERY_TYPE))
  const keys = new Set(events.map(({ object }) => object.key))
  for (const key of keys) {
    await expectChain(
      store,
      events.filter(({ object }) => object.key === key),
    )
  }
}

/** Expects that each event of an object begins where the one before it ended, and that the last one ends at its row. */
async function expectChain(store: StorageObjectStore, chain: readonly ListedEvent[]): Promise<void> {
  // What was there when events were turned on is in the first event only.
  const [first] = chain
  let row = first!.type === 'deleted' ? first!.object : first!.previous
  for (const { type, object, previous } of chain) {
    if (type === 'deleted') {
      expect(previous).toBeNull()
      expect(row).toMatchObject({ attemptId: object.attemptId, scope: object.scope })
    } else {
      expect(previous).toEqual(row)
      if (type === 'updated') expect(object).toMatchObject({ scope: row!.scope, attemptId: row!.attemptId })
      if (type === 'transferred') expect(object.scope).not.toBe(row!.scope)
      if (type === 'activated') expect(object.attemptId).not.toBe(row?.attemptId)
    }
    row = type === 'deleted' ? null : object
  }
  const { bucket, key } = first!.object
  expect(await store.findActive({ bucket, key })).toEqual(row)
}

async function allEvents(store: StorageObjectStore): Promise<ListedEvent[]> {
  const events: ListedEvent[] = []
  let after: string | null = null
  do {
    const page = await store.listEvents({ limit: 1000, after })
    events.push(...page.items)
    after = page.next
  } while (after !== null)
  return events
}

/** Returns a text that no other change has, except for repeated transfers there and back. */
function changeText(type: string, { key, attemptId, scope, filename }: StorageObject): string {
  return JSON.stringify([type, key, attemptId, scope, filename])
}

function countBy<T>(values: readonly T[], nameOf: (value: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(nameOf(value), (counts.get(nameOf(value)) ?? 0) + 1)
  return counts
}
