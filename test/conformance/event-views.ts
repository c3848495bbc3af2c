import type { ListedEvent, StoredEvent } from '../../src/core/store/events.js'
import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ConformanceFailure } from './failure.js'
import { HOUR, type ManualClock } from './clock.js'
import { difference } from './difference.js'
import type { Notation } from './notation.js'
import type { ReferenceModel } from './reference-model.js'

const PAGE = 2
/** Stops reading from a store that never ends. */
const MAX_PAGES = 200

/** Lists all events, page by page. */
export async function allEvents(store: StorageObjectStore): Promise<ListedEvent[]> {
  const items: ListedEvent[] = []
  let after: string | null = null
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await store.listEvents({ limit: PAGE, after })
    items.push(...page.items)
    if (page.next === null) return items
    if (page.items.length !== PAGE)
      throw new ConformanceFailure(`listEvents: a page of ${page.items.length} items has a next page`)
    after = page.next
  }
  throw new ConformanceFailure('listEvents: the pages never end')
}

/** A change as a store reports it, which need not be one that the contract allows. */
export type ReportedChange = Pick<StoredEvent, 'type' | 'object' | 'previous'> & {
  readonly reason?: string | null
}

/** Returns the change that an event reports. Only a verdict has a reason. */
export function changeOf(event: StoredEvent): ReportedChange {
  const { type, object, previous } = event
  return { type, object, previous, ...('reason' in event && { reason: event.reason }) }
}

type RecordedEvent = ReportedChange & Pick<StoredEvent, 'createdAt'>

/** The events of each object in the order in which they could be claimed. No other call may run while they are taken. */
export class DrainedEvents {
  readonly #byObject: Readonly<Record<string, readonly RecordedEvent[]>>

  private constructor(events: readonly RecordedEvent[]) {
    this.#byObject = byObject(events)
  }

  /** Claims and settles all events, after every claim and every retry of a script. */
  static async of(store: StorageObjectStore, clock: ManualClock): Promise<DrainedEvents> {
    const before = clock.now()
    // Later than any event, claim or retry, even if the script has set the clock back.
    clock.moveTo(new Date(clock.latest + 3 * HOUR))
    const events: RecordedEvent[] = []
    for (let claims = 0; claims < MAX_PAGES; claims++) {
      const claimed = await store.claimEvents({ limit: 1000 })
      if (claimed.length === 0) break
      events.push(...claimed.map((event) => ({ ...changeOf(event), createdAt: event.createdAt })))
      const ids = claimed.map(({ id }) => id)
      const settled = await store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim })))
      const found = difference(ids.sort(), settled.sort())
      if (found !== null) throw new ConformanceFailure(`settleEvents of all claimed events: ${found}`)
    }
    const left = await store.countEvents()
    // The model is read at the time before.
    clock.moveTo(before)
    const found = difference({ waiting: 0, claimed: 0, retrying: 0 }, left)
    if (found !== null) throw new ConformanceFailure(`countEvents after all events were settled: ${found}`)
    return new DrainedEvents(events)
  }

  /** Describes the first difference from the events of the model, or returns `null`. */
  differenceFrom({ events }: ReferenceModel, notation: Notation): string | null {
    const expected = byObject(events.map(({ change, createdAt }) => ({ ...change, createdAt })))
    const found = difference(expected, this.#byObject, notation)
    return found && `The events of each object, in the order of their claims\n${found}`
  }
}

function byObject(events: readonly RecordedEvent[]): Record<string, RecordedEvent[]> {
  const groups: Record<string, RecordedEvent[]> = {}
  for (const event of events)
    (groups[JSON.stringify([event.object.bucket, event.object.key])] ??= []).push(event)
  return groups
}
