import { refused, same, sameFields } from '../assertions.js'
import { END_OF_TIME, HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { NO_USAGE } from '../given.js'

export const arrivedCases: CaseGroup = {
  title: 'arrived attempts',
  cases: {
    'stay pending, with what has arrived, and the active row stays': async (given) => {
      const { store, clock, at } = given
      const active = await given.activate({ declaredSize: 3 })
      const pending = await given.reserve({
        ...{ storageKey: 'stored', uploadId: 'upload', contentType: 'text/plain', checkSeconds: 60 },
      })
      clock.advance(1)
      const row = await given.confirm({ id: pending.id, size: 12, eTag: 'tag', contentType: 'a/b' })
      const now = clock.now()
      same(row, {
        ...pending,
        ...{ size: 12, eTag: 'tag', contentType: 'a/b', uploadId: null },
        ...{ arrivedAt: now, updatedAt: now, expiresAt: clock.in(MINUTE) },
      })
      same(await store.findPending(at), row, 'the pending row')
      same(await store.findActive(at), active, 'the active row')
      same(await given.leftovers(), [], 'leftovers')
    },

    'are returned to the same confirm again, and to none with another size or eTag': async (given) => {
      const { store, clock, at } = given
      const row = await given.arrive({}, { eTag: 'tag' })
      clock.advance(HOUR)
      same(await given.confirm({ id: row.id }), row, 'by the id')
      same(await given.confirm({ id: row.id, eTag: 'tag' }), row, 'by the id, with the eTag')
      same(await given.confirm({ eTag: 'tag' }), row, 'by the eTag')
      await refused(() => given.confirm({ id: row.id, size: 11 }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ id: row.id, eTag: 'another' }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm(), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), row, 'the pending row')
    },

    'reserve their true size, which the quota allows on arrival': async (given) => {
      const { store, scope } = given
      await given.activate({ declaredSize: 4 })
      const { id } = await given.reserve({ declaredSize: 6, storageKey: 'stored', checkSeconds: 60 })
      const quota = { maxBytes: 10 }
      await refused(() => given.confirm({ id, size: 11, quota }), 'QUOTA_EXCEEDED')
      await given.confirm({ id, size: 9, quota })
      const usage = { bytes: 4, files: 1, reservedBytes: 5, reservedFiles: 0 }
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await store.checkUsage(), [], 'checkUsage')
    },

    'arrive after their reservation has expired, for a time until the last valid date': async (given) => {
      const { store, clock, at } = given
      const late = { storageKey: 'stored', checkSeconds: 2_592_000 }
      const { id } = await given.reserve(late)
      clock.moveTo(new Date(END_OF_TIME.getTime() - HOUR))
      const row = await given.confirm({ id })
      sameFields(row, { status: 'pending', arrivedAt: clock.now(), expiresAt: END_OF_TIME })
      same(await store.findPending(at), row, 'the pending row')
    },

    'never expire': async (given) => {
      const { store, clock, at } = given
      const row = await given.arrive()
      clock.advance(24 * HOUR)
      same(await store.listExpired(), [], 'listExpired')
      same(await store.purgeExpired(), [], 'purgeExpired')
      same(await store.findPending(at), row, 'the pending row')
    },

    'are in the way of others, whatever their time': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const row = await given.arrive()
      clock.advance(24 * HOUR)
      await refused(() => given.reserve({ overwrite: false }), 'KEY_CONFLICT')
      await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
      await refused(() => given.adopt(), 'KEY_CONFLICT')
      await refused(() => store.transfer({ ...at, from: scope, to: otherScope }), 'KEY_CONFLICT')
      same(await store.findPending(at), row, 'the pending row')
    },

    'keep the object that they would replace from a transfer': async (given) => {
      const { store, scope, otherScope, at } = given
      const active = await given.activate()
      const { id } = await given.arrive()
      const transfer = { ...at, from: scope, to: otherScope }
      for (const attemptId of [null, active.attemptId, id]) {
        await refused(() => store.transfer({ ...transfer, attemptId }), 'KEY_CONFLICT')
      }
      same(await store.transfer({ ...transfer, attemptId: given.newId() }), null, 'another attempt')
      same(await store.transfer({ ...at, from: otherScope, to: scope }), active, 'to the owner')
      same(await store.findActive(at), active, 'the active row')
    },

    'end by a new upload, a removal or a release of their owner': async (given) => {
      const { store, scope, at } = given
      const ids: string[] = []
      ids.push((await given.arrive()).id)
      ids.push((await given.arrive()).id)
      same((await store.release({ ...at, id: ids[1]! }))?.id, ids[1], 'the released row')
      ids.push((await given.arrive()).id)
      same((await store.remove(at))?.id, ids[2], 'the removed row')
      same(await store.findPending(at), null, 'the pending row')
      same((await given.leftovers()).map(({ attemptId }) => attemptId).sort(), ids.sort(), 'the leftovers')
      same(await store.getScopeUsage(scope), NO_USAGE, 'usage')
    },

    'stay where a release leaves them out, which ends others': async (given) => {
      const { store, at } = given
      const row = await given.arrive()
      same(await store.release({ ...at, id: row.id, unlessArrived: true }), null, 'the result')
      same(await store.findPending(at), row, 'the pending row')
      const { id } = await given.reserve({ storageKey: 'another', checkSeconds: 60 })
      same((await store.release({ ...at, id, unlessArrived: true }))?.id, id, 'the released row')
    },

    'take no upload id': async (given) => {
      const { store, at } = given
      const row = await given.arrive({ uploadId: 'upload' })
      const uploadId = 'another'
      await refused(() => store.setUploadId({ ...at, id: row.id, uploadId }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), row, 'the pending row')
    },
  },
}

export const acceptCases: CaseGroup = {
  title: 'confirm with accept',
  cases: {
    'makes an arrived attempt active, in place of the active row': async (given) => {
      const { store, clock, scope, at } = given
      const replaced = await given.activate({ declaredSize: 3, storageKey: 'replaced' })
      const arrived = await given.arrive({ contentType: 'a/b' }, { size: 12, eTag: 'tag' })
      clock.advance(HOUR)
      const row = await given.accept(arrived)
      const now = clock.now()
      same(row, {
        ...arrived,
        ...{ id: replaced.id, createdAt: replaced.createdAt, status: 'active', declaredSize: null },
        ...{ expiresAt: null, arrivedAt: null, updatedAt: now, confirmedAt: now },
      })
      same(await store.find(at), row, 'the result of find')
      same(await store.findPending(at), null, 'the pending row')
      same(
        (await given.leftovers()).map(({ attemptId }) => attemptId),
        [replaced.id],
        'leftovers',
      )
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 12, files: 1 }, 'usage')
      same(await store.listArrived(), [], 'listArrived')
    },

    'sets the content type if one is given': async (given) => {
      const { store, at } = given
      const row = await given.accept(await given.arrive({ contentType: 'a/b' }), { contentType: 'c/d' })
      same(row.contentType, 'c/d', 'the content type')
      same(await store.findActive(at), row, 'the active row')
    },

    'counts the end of the object from the acceptance': async (given) => {
      const { store, clock, at } = given
      const arrived = await given.arrive({ temporarySeconds: 60 })
      same(arrived.temporaryUntil, null, 'the end of the arrived attempt')
      clock.advance(HOUR)
      const row = await given.accept(arrived)
      same(row.temporaryUntil, clock.in(MINUTE), 'the end')
      same(await store.findActive(at), row, 'the active row')
    },

    'returns the same object to a repeated call': async (given) => {
      const { clock } = given
      const arrived = await given.arrive({}, { eTag: 'tag' })
      const row = await given.accept(arrived)
      clock.advance(1)
      same(await given.accept(arrived), row, 'accepted again')
      same(await given.confirm({ id: arrived.id, size: 10 }), row, 'confirmed again')
    },

    'ignores the quota, which held on arrival': async (given) => {
      const arrived = await given.arrive({}, { size: 12 })
      const row = await given.accept(arrived, { quota: { maxBytes: 1, maxFiles: 0 } })
      same(row.status, 'active', 'the status')
    },

    'refuses an attempt that has not arrived, or with another size or eTag': async (given) => {
      const { store, at } = given
      const pending = await given.reserve({ storageKey: 'stored', checkSeconds: 60 })
      await refused(() => given.confirm({ id: pending.id, accept: true }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), pending, 'the pending row')
      const row = await given.confirm({ id: pending.id, eTag: 'tag' })
      await refused(() => given.accept(row, { size: 11 }), 'OBJECT_NOT_FOUND')
      await refused(() => given.accept(row, { eTag: 'another' }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), row, 'the arrived row')
      const unchecked = await given.reserve({ key: 'unchecked' })
      await refused(
        () => given.confirm({ key: 'unchecked', id: unchecked.id, accept: true }),
        'OBJECT_NOT_FOUND',
      )
    },

    'refuses an attempt that another upload has displaced': async (given) => {
      const { store, at } = given
      const displaced = await given.arrive()
      const row = await given.arrive()
      await refused(() => given.accept(displaced), 'OBJECT_NOT_FOUND')
      await refused(() => store.reject({ ...at, id: displaced.id }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), row, 'the pending row')
    },

    'counts after the time for the check is over': async (given) => {
      const arrived = await given.arrive()
      given.clock.advance(24 * HOUR)
      same((await given.accept(arrived)).status, 'active', 'the status')
    },
  },
}

export const listArrivedCases: CaseGroup = {
  title: 'listArrived',
  cases: {
    'lists arrived attempts, by the end of their time and id': async (given) => {
      const { store, clock } = given
      const ids = [1, 2, 3].map(() => given.newId())
      const rows = []
      for (const [index, checkSeconds] of [
        [2, 120],
        [0, 120],
        [1, 60],
      ] as const) {
        rows.push(await given.arrive({ key: `key ${index}`, id: ids[index]!, checkSeconds }))
      }
      const [last, second, first] = rows
      await given.reserve({ key: 'pending', storageKey: 'pending', checkSeconds: 60 })
      same(await store.listArrived(), [first, second, last])
      same(await store.listArrived({ limit: 1 }), [first], 'the first page')
      same(await store.listArrived({ after: second }), [last], 'the next page')
      same(await store.listArrived({ dueBefore: clock.in(MINUTE - 1) }), [], 'just before')
      same(await store.listArrived({ dueBefore: clock.in(MINUTE) }), [first], 'up to a date')
    },

    'lists only attempts of the given scope': async (given) => {
      const { store, scope, otherScope } = given
      const own = await given.arrive()
      const others = await given.arrive({ key: 'another', scope: otherScope })
      same(await store.listArrived({ scope }), [own], 'of one scope')
      same(await store.listArrived({ scope: otherScope }), [others], 'of the other scope')
      same(await store.listArrived({ scope: null }), [own, others], 'without a scope')
    },
  },
}
