import { type ObjectReference, createStore, type ListedEvent, type StoreDriver } from '../../src/adapter.js'
import type { EventTable } from '../../src/adapters/memory/event-table.js'
import { createMemoryDriver } from '../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../src/adapters/memory/tables.js'
import type { Mutant } from './mutant.js'

/** Replaces calls of the memory store's driver, which may record events of their own. */
export function overRecordingDriver(
  broken: (driver: StoreDriver, record: EventTable['record']) => Partial<StoreDriver>,
): Mutant['createStore'] {
  return (context) => {
    const tables = new Tables({ events: context.events ?? false })
    const driver = createMemoryDriver(tables)
    return createStore(
      { ...driver, ...broken(driver, (...args) => tables.events.record(...args)) },
      { now: context.now },
    )
  }
}

/** Returns all events, in the order of recording. */
export async function eventsOf(driver: StoreDriver): Promise<ListedEvent[]> {
  return (await driver.listEvents({ limit: 100_000, after: null })).items
}

function isSameObject(a: ObjectReference, b: ObjectReference): boolean {
  return a.bucket === b.bucket && a.key === b.key
}

/** Returns the oldest event of each object. */
export function oldestOfEach(events: readonly ListedEvent[]): ListedEvent[] {
  return events.filter((event) => events.find((each) => isSameObject(each.object, event.object)) === event)
}
