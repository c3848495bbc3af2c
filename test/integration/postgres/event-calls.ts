import type { StorageObjectStore, StoredEvent } from '@svc/db'
import type { NamedCall } from './every-call.js'

/** Returns every call about events, for a place where they are on. The calls run in order. */
export function eventCalls(scope: string, now: () => Date): NamedCall[] {
  const at = (key: string) => ({ bucket: 'bucket', key: `${scope}/event/${key}` })
  let claimed: StoredEvent[] = []
  async function record(store: StorageObjectStore, key: string): Promise<void> {
    const expiresAt = new Date(now().getTime() + 60_000)
    await store.reserve({ scope, ...at(key), declaredSize: 10, expiresAt })
    await store.confirm({ ...at(key), size: 10 })
  }
  const retryAt = now()

  return [
    {
      name: 'claimEvents of an object',
      prepare: (store) => record(store, '1'),
      async call(store) {
        const events = await store.claimEvents(at('1'))
        if (events.length > 0) claimed = events
      },
    },
    { name: 'extendClaims', call: (store) => store.extendClaims(claimed) },
    {
      name: 'settleEvents, to be retried',
      call: (store) => store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim, retryAt }))),
    },
    {
      name: 'claimEvents',
      async call(store) {
        const events = await store.claimEvents({ limit: 3 })
        if (events.length > 0) claimed = events
      },
    },
    { name: 'settleEvents', call: (store) => store.settleEvents(claimed) },
    {
      name: 'listEvents',
      // The first look of a store also reads how far the numbers of events are.
      async prepare(store) {
        await store.listEvents({ limit: 10 })
      },
      call: (store) => store.listEvents({ limit: 10 }),
    },
  ]
}
