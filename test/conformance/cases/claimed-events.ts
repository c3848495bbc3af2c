import type { StoredEvent } from '../../../src/core/store/events.js'
import { holds } from '../assertions.js'
import { MINUTE } from '../clock.js'
import type { Given } from '../given.js'

export const keysOf = (events: readonly StoredEvent[]) => events.map(({ object }) => object.key)
export const filenamesOf = (events: readonly StoredEvent[]) => events.map(({ object }) => object.filename)
export const claimsOf = (events: readonly StoredEvent[]) => events.map(({ id, claim }) => ({ id, claim }))

/** Creates an object under each key, with a minute between them. */
export async function objectsAt(given: Given, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await given.activate({ key })
    given.clock.advance(MINUTE)
  }
}

/** Creates an object and replaces it, so that it has an event for each filename. */
export async function versions(given: Given, filenames: readonly string[], key = 'key'): Promise<void> {
  for (const filename of filenames) await given.activate({ key, filename })
}

export async function claimOne({ store }: Given): Promise<StoredEvent> {
  const [event] = await store.claimEvents({ limit: 1 })
  holds(event !== undefined, 'no event could be claimed')
  return event
}
