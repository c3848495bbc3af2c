import { holds, refused, same } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import { difference } from '../difference.js'
import { AWKWARD } from '../properties/texts.js'
import { allOf, numbers, type CaseGroup } from '../given.js'

export const recordedEventCases: CaseGroup = {
  title: 'events',
  events: true,
  cases: {
    'record a new object as activated, without a previous row': async (given) => {
      const { store, clock } = given
      const object = await given.activate({ metadata: { a: '1' }, storageKey: 'stored' }, { eTag: 'etag' })
      const createdAt = clock.now()
      clock.advance(MINUTE)
      const [event, ...others] = await store.claimEvents()
      const { id, claim, ...rest } = event!
      same(rest, { type: 'activated', object, previous: null, createdAt, attempts: 1, hasNext: false })
      same([typeof id, typeof claim], ['string', 'string'], 'types of id and claim')
      same(others, [], 'other events')
    },

    'record a replacement with the row that it replaced': async (given) => {
      const previous = await given.activate({ filename: 'first', storageKey: 'first' })
      given.clock.advance(MINUTE)
      const object = await given.activate({ filename: 'second', storageKey: 'second' })
      same(await given.takeEvents(), [
        { type: 'activated', object: previous, previous: null },
        { type: 'activated', object, previous },
      ])
    },

    'record a removed object with the row that remove returns': async (given) => {
      const { store, at } = given
      for (const mode of ['soft', 'hard'] as const) {
        await given.activate()
        await given.reserve()
        await given.takeEvents()
        given.clock.advance(MINUTE)
        const object = await store.remove({ ...at, mode })
        same(await given.takeEvents(), [{ type: 'deleted', object, previous: null }], `events of ${mode}`)
      }
    },

    'have the time of the change, also for a row that a hard removal returns unchanged': async (given) => {
      const { store, clock, at } = given
      await given.activate()
      await given.takeEvents()
      clock.advance(MINUTE)
      const changedAt = clock.now()
      await store.remove({ ...at, mode: 'hard' })
      clock.advance(MINUTE)
      const { items } = await store.listEvents()
      same(
        items.map(({ createdAt, dueAt }) => ({ createdAt, dueAt })),
        [{ createdAt: changedAt, dueAt: changedAt }],
        'times of the event',
      )
    },

    'record nothing of uploads, refusals, purges and what finds nothing': async (given) => {
      const { store, clock, at, otherScope } = given
      const { id } = await given.reserve({ storageKey: 'a' })
      await store.setUploadId({ ...at, id, uploadId: 'upload' })
      await given.reserve({ storageKey: 'b' })
      await store.release(at)
      await given.reserve({ storageKey: 'c' })
      await store.remove(at)
      await given.reserve({ storageKey: 'd' })
      await refused(() => given.confirm({ size: 20, quota: { maxBytes: 15 } }), 'QUOTA_EXCEEDED')
      await refused(() => given.confirm({ scope: otherScope }), 'OBJECT_NOT_FOUND')
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope, storageKey: 'e' })
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      await store.remove(at)
      await store.remove({ ...at, mode: 'hard' })
      for (const { attemptId } of await given.leftovers()) await store.forgetLeftover({ attemptId })
      await store.purgeDeleted({ before: clock.now() })
      await store.repairUsage()
      same(await store.listEvents(), { items: [], next: null }, 'events')
    },

    'are listed as soon as the change is visible': async (given) => {
      const { store } = given
      for (const n of numbers(12)) {
        const at = { bucket: 'bucket', key: `key ${n}` }
        const { id } = await given.reserve(at)
        const watch = async () => {
          while ((await store.findActive(at)) === null) await new Promise((resolve) => setTimeout(resolve, 0))
          const { items } = await store.listEvents({ limit: 1000 })
          holds(
            items.some(({ object }) => object.attemptId === id),
            'the object is active, but its event is not listed',
          )
        }
        // Several, because a store over a network shows the moment between two of its commands only now and then.
        await allOf<unknown>([watch(), watch(), store.confirm({ ...at, id, size: 10 }), watch(), watch()])
      }
    },

    'record a confirm and a remove once, however often they are repeated': async (given) => {
      const { store, at } = given
      const { id } = await given.reserve()
      for (const _ of [1, 2, 3]) await given.confirm({ id, eTag: 'etag' })
      for (const _ of [1, 2, 3]) await store.remove(at)
      same(
        (await given.takeEvents()).map(({ type }) => type),
        ['activated', 'deleted'],
        'types',
      )
    },

    'keep the order of the changes of a key, even if clocks go back and the object is recreated': async (
      given,
    ) => {
      const { store, clock, at, otherScope } = given
      const filenames: (string | null)[] = []
      for (const [index, scope] of [given.scope, otherScope, given.scope].entries()) {
        for (const part of ['first', 'second']) {
          clock.advance(-HOUR)
          const filename = `${part} ${index}`
          await given.activate({ scope, filename })
          filenames.push(filename)
        }
        clock.advance(-HOUR)
        await store.remove({ ...at, mode: index === 1 ? 'hard' : 'soft' })
        filenames.push(`second ${index}`)
      }
      clock.advance(24 * HOUR)
      same(
        (await given.takeEvents()).map(({ object }) => object.filename),
        filenames,
        'filenames of the events',
      )
    },

    'outlive their object and its history': async (given) => {
      const { store, clock, at } = given
      await given.activate({ key: 'a', storageKey: 'a' })
      await store.remove({ ...at, key: 'a', mode: 'hard' })
      await given.history({ key: 'b', storageKey: 'b' })
      await store.purgeDeleted({ before: clock.now() })
      for (const { attemptId } of await given.leftovers()) await store.forgetLeftover({ attemptId })
      same((await store.listEvents()).items.length, 4, 'events')
      same((await given.takeEvents()).length, 4, 'events by their claims')
    },

    'return rows with any text, any metadata and any size unchanged': async (given) => {
      const { store } = given
      const metadata = JSON.parse(
        '{"$set":"$a","a.b":"c","__proto__":"p","":"empty","$$ROOT":"$x"}',
      ) as object
      const expected: unknown[] = []
      for (const [index, text] of AWKWARD.entries()) {
        const at = { bucket: text, key: `${index} ${text}` }
        const texts = { scope: text, filename: text, contentType: text, route: text, storageKey: text }
        const fields = { ...at, ...texts, metadata: { ...metadata, [text]: text } }
        expected.push(await given.activate({ ...fields, declaredSize: 2 ** 53 - 1 - index }, { eTag: text }))
        expected.push(await store.remove({ ...at, mode: index % 2 === 0 ? 'soft' : 'hard' }))
      }
      const listed = (await store.listEvents({ limit: 1000 })).items.map(({ object }) => object)
      const claimed = (await given.takeEvents()).map(({ object }) => object)
      same(listed.length, expected.length, 'events')
      for (const rows of [listed, claimed]) {
        const unknown = rows.filter((row) => !expected.some((each) => difference(each, row) === null))
        same(unknown, [], 'rows that differ')
      }
    },

    'are copies that callers may change': async (given) => {
      const { store } = given
      const object = await given.activate({ metadata: { a: '1' } })
      for (const events of [(await store.listEvents()).items, await store.claimEvents({ claimSeconds: 1 })]) {
        const [event] = events
        event!.createdAt.setTime(0)
        event!.object.createdAt.setTime(0)
        Object.assign(event!.object.metadata!, { a: '2' })
      }
      given.clock.advance(HOUR)
      same(
        (await given.takeEvents()).map((event) => event.object),
        [object],
        'the row of the event',
      )
    },
  },
}

export const eventsOffCases: CaseGroup = {
  title: 'events that are off',
  cases: {
    'record nothing': async (given) => {
      const { store, at } = given
      await given.activate()
      await given.activate()
      await store.remove(at)
      same(await store.listEvents(), { items: [], next: null })
      same(await store.claimEvents(), [], 'claimed events')
      same(await store.countEvents(), { waiting: 0, claimed: 0, retrying: 0 }, 'counts')
    },
  },
}

export const updateEventCases: CaseGroup = {
  title: 'events of update',
  events: true,
  cases: {
    'have the rows before and after': async (given) => {
      const { store, clock, at } = given
      const previous = await given.activate({ metadata: { a: '1' } })
      await given.takeEvents()
      clock.advance(MINUTE)
      const object = await store.update({ ...at, metadata: { a: '2' } })
      same(await given.takeEvents(), [{ type: 'updated', object, previous }])
    },

    'are recorded only if a field changed': async (given) => {
      const { store, at } = given
      await given.activate({ filename: 'a', metadata: { a: '1', b: '2' } })
      await given.takeEvents()
      await store.update({ ...at, filename: 'a', contentType: null, metadata: { b: '2', a: '1' } })
      await store.update({ ...at, attemptId: given.newId(), filename: 'b' })
      await store.update({ ...at, scope: given.otherScope, filename: 'b' })
      await store.update({ ...at, key: 'another', filename: 'b' })
      same(await given.takeEvents(), [])
      for (const filename of ['b', 'b', 'a']) await store.update({ ...at, filename })
      same(
        (await given.takeEvents()).map(({ object }) => object.filename),
        ['b', 'a'],
        'filenames of the events',
      )
    },
  },
}

export const transferEventCases: CaseGroup = {
  title: 'events of transfer',
  events: true,
  cases: {
    'have the rows before and after': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      const previous = await given.activate()
      await given.reserve({ storageKey: 'replacement' })
      await given.takeEvents()
      clock.advance(MINUTE)
      const object = await store.transfer({ ...at, from: scope, to: otherScope })
      same(await given.takeEvents(), [{ type: 'transferred', object, previous }])
    },

    'are recorded only if the scope changed': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate()
      await given.takeEvents()
      const input = { ...at, from: scope, to: otherScope }
      await refused(() => store.transfer({ ...input, quota: { maxFiles: 0 } }), 'QUOTA_EXCEEDED')
      await store.transfer({ ...input, to: scope })
      await store.transfer({ ...input, attemptId: given.newId() })
      await store.transfer({ ...input, from: 'a', to: 'b' })
      same(await given.takeEvents(), [])
      for (const _ of [1, 2]) await store.transfer(input)
      same(
        (await given.takeEvents()).map(({ type }) => type),
        ['transferred'],
        'types',
      )
    },
  },
}

export const adoptEventCases: CaseGroup = {
  title: 'events of adopt',
  events: true,
  cases: {
    'record a new object as activated': async (given) => {
      const { clock } = given
      await given.reserve({ scope: given.otherScope, storageKey: 'lapsed' })
      clock.advance(2 * HOUR)
      const { object } = await given.adopt({ metadata: { a: '1' } })
      same(await given.takeEvents(), [{ type: 'activated', object, previous: null }])
    },

    'record an object that received a storage key as updated': async (given) => {
      const previous = await given.activate()
      await given.takeEvents()
      given.clock.advance(MINUTE)
      const { object } = await given.adopt()
      same(await given.takeEvents(), [{ type: 'updated', object, previous }])
    },

    'record nothing of known bytes and refusals': async (given) => {
      const { store, at } = given
      await given.adopt()
      await given.activate({ key: 'a', storageKey: 'b' })
      await given.reserve({ key: 'c', storageKey: 'ended' })
      await store.release({ ...at, key: 'c' })
      await given.takeEvents()
      await given.adopt()
      await given.adopt({ storageKey: 'b' })
      await given.adopt({ storageKey: 'ended' })
      await refused(() => given.adopt({ storageKey: 'another' }), 'KEY_CONFLICT')
      same(await given.takeEvents(), [])
    },
  },
}
