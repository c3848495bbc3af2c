import type { ObjectReference } from '@svc/db'
import type { ListedEvent, StoreDriver } from '@svc/db/adapter'

/** Returns all events, in the order of recording. */
export async function eventsOf(driver: StoreDriver): Promise<ListedEvent[]> {
  return (await driver.listEvents!({ limit: 100_000, after: null })).items
}

function isSameObject(a: ObjectReference, b: ObjectReference): boolean {
  return a.bucket === b.bucket && a.key === b.key
}

/** Returns the oldest event of each object. */
export function oldestOfEach(events: readonly ListedEvent[]): ListedEvent[] {
  return events.filter((event) => events.find((each) => isSameObject(each.object, event.object)) === event)
}
