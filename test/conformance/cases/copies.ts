import { same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { isDate } from '../is-date.js'

/** Changes everything in a result or an input, except what is frozen. */
function mutateDeeply(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isDate(value)) {
    value.setTime(0)
    return
  }
  for (const name of Object.keys(value)) {
    mutateDeeply((value as Record<string, unknown>)[name])
    Reflect.set(value, name, 'changed')
  }
  Reflect.set(value, 'added', 'changed')
  if (Array.isArray(value)) Reflect.set(value, 'length', 0)
}

async function stateOf({ store, scope, at }: Given): Promise<unknown> {
  return structuredClone([
    await store.listByScope({ scope }),
    await store.listByScope({ scope, status: 'deleted' }),
    await store.getScopeUsage(scope),
    await store.find(at),
    await store.findPending(at),
    await store.listExpired(),
    await store.listLeftovers(),
    await store.checkUsage(),
  ])
}

export const copyCases: CaseGroup = {
  title: 'copies',
  cases: {
    'are returned by every read': async (given) => {
      const { store, clock, scope, at } = given
      const changes = { metadata: { name: 'value' }, storageKey: 'object', uploadId: 'upload' }
      await given.history(changes)
      await given.activate(changes)
      await given.reserve({
        ...changes,
        storageKey: 'replacement',
        declaredSize: 7,
        expiresAt: clock.in(2 * HOUR),
      })
      await given.reserve({ ...changes, key: 'expired' })
      clock.advance(HOUR)
      const before = await stateOf(given)
      for (const result of [
        await store.listByScope({ scope }),
        await store.listByScope({ scope, status: 'deleted' }),
        await store.getScopeUsage(scope),
        await store.find(at),
        await store.findActive(at),
        await store.findPending(at),
        await store.findPendingMultipart({ ...at, fileSize: 7 }),
        await store.listExpired(),
        await store.listLeftovers(),
        await store.verify(),
        await store.checkUsage(),
        await store.repairUsage(),
      ]) {
        mutateDeeply(result)
        same(await stateOf(given), before, 'the state after a result was changed')
      }
    },

    'are returned by every write': async (given) => {
      const { store, clock, at } = given
      const changes = { metadata: { name: 'value' }, storageKey: 'object' }
      const writes: (() => Promise<unknown>)[] = [
        () => given.reserve({ ...changes, id: '00000000-0000-7000-8000-000000000001' }),
        () => given.reserve({ ...changes, id: '00000000-0000-7000-8000-000000000001' }),
        () => store.setUploadId({ ...at, id: '00000000-0000-7000-8000-000000000001', uploadId: 'upload' }),
        () => store.setUploadId({ ...at, id: '00000000-0000-7000-8000-000000000001', uploadId: 'upload' }),
        () => given.confirm({ eTag: 'etag' }),
        () => given.confirm({ eTag: 'etag' }),
        () => given.reserve({ ...changes, storageKey: 'released' }),
        () => store.release(at),
        () => store.remove(at),
        () => given.reserve({ ...changes, storageKey: 'purged' }),
        () => {
          clock.advance(2 * HOUR)
          return store.purgeExpired()
        },
        () => given.activate({ ...changes, storageKey: 'removed' }),
        () => store.remove({ ...at, mode: 'hard' }),
      ]
      for (const write of writes) {
        const result = await write()
        const before = await stateOf(given)
        mutateDeeply(result)
        same(await stateOf(given), before, 'the state after a result was changed')
      }
    },

    'are kept of every input': async (given) => {
      const { store, clock, at } = given
      const input = {
        ...given.input({ metadata: { name: 'value' }, quota: { maxBytes: 100 } }),
        expiresAt: clock.in(HOUR),
      }
      await store.reserve(input)
      const pending = await stateOf(given)
      mutateDeeply(input)
      same(await stateOf(given), pending, 'the state after the input of reserve was changed')
      const confirmation = { ...at, size: 10, eTag: 'etag' }
      await store.confirm(confirmation)
      const active = await stateOf(given)
      mutateDeeply(confirmation)
      same(await stateOf(given), active, 'the state after the input of confirm was changed')
    },

    'are kept of the dates of the clock': async (given) => {
      const { store, clock, at } = given
      const now = clock.now()
      await given.reserve()
      const pending = await store.find(at)
      mutateDeeply(now)
      clock.advance(HOUR)
      same(await store.find(at), pending)
    },

    'leave the input unchanged': async (given) => {
      const { store, scope, at, clock } = given
      const input = given.input({ metadata: { name: 'value' } })
      const before = structuredClone(input)
      await store.reserve(input)
      same(input, before, 'the input of reserve')
      Object.freeze(input.metadata)
      await store.reserve(Object.freeze(input))
      await store.confirm(Object.freeze({ ...at, size: 10 }))
      await store.listByScope(Object.freeze({ scope }))
      await store.purgeExpired(Object.freeze({ before: clock.now() }))
      await store.remove(Object.freeze({ ...at }))
    },
  },
}
