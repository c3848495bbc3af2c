import {
  createS3Server,
  db,
  deliverEvents,
  memoryStorage,
  type EventHandler,
  type StoredEvent,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expectTypeOf, it } from 'vitest'

const store = memoryAdapter()
const plugins = [db({ client: store, resolveScope: () => null })]

it('types the handler of events', () => {
  expectTypeOf<EventHandler>().parameters.toEqualTypeOf<[StoredEvent, { readonly signal: AbortSignal }]>()
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins,
    onEvent({ type, object, previous }, { signal }) {
      expectTypeOf(type).toEqualTypeOf<StoredEvent['type']>()
      expectTypeOf(object.key).toBeString()
      expectTypeOf(previous).toBeNullable()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
    },
  })
  expectTypeOf(() => deliverEvents(s3)).returns.resolves.toHaveProperty('delivered')
  expectTypeOf(() => deliverEvents(s3, { pollSeconds: 5, concurrency: null })).toBeFunction()
})

it('requires a handler for a store alone, and takes none next to a server', () => {
  const s3 = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins, onEvent: null })
  const run = () => {
    void deliverEvents(store, { onEvent: () => {}, now: () => new Date() })
    // @ts-expect-error A store has no handler of its own.
    void deliverEvents(store, { pollSeconds: 5 })
    // @ts-expect-error The handler is an option of the server.
    void deliverEvents(s3, { onEvent: () => {} })
  }
  expectTypeOf(run).toBeFunction()
})
