import { refused, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'

export const confirmCases: CaseGroup = {
  title: 'confirm',
  cases: {
    'makes the pending row active with the verified fields': async (given) => {
      const { store, at } = given
      const pending = await given.reserve({ declaredSize: 5, contentType: 'text/plain' })
      const active = await given.confirm({ id: pending.id, size: 6, eTag: 'etag', contentType: 'text/html' })
      sameFields(active, {
        id: pending.id,
        status: 'active',
        size: 6,
        eTag: 'etag',
        contentType: 'text/html',
      })
      same(await store.findActive(at), active, 'the active row')
      same(await store.findPending(at), null, 'the pending row')
    },

    'keeps the content type of the attempt if none is given': async (given) => {
      await given.reserve({ contentType: 'text/plain' })
      const kept = { contentType: 'text/plain', eTag: null }
      sameFields(await given.confirm({ eTag: null, contentType: null }), kept)
      sameFields(await given.store.find(given.at), kept, 'the result of find')
    },

    'confirms the pending row if no id is given': async (given) => {
      const { id } = await given.reserve()
      sameFields(await given.confirm(), { id, status: 'active' })
    },

    'confirms the pending row without an id, even if size and eTag match the active row': async (given) => {
      await given.activate({}, { eTag: 'etag' })
      const { id } = await given.reserve()
      sameFields(await given.confirm({ eTag: 'etag' }), { attemptId: id })
    },

    'refuses a key that was never reserved': async (given) => {
      await refused(() => given.confirm(), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ id: given.newId() }), 'OBJECT_NOT_FOUND')
    },

    'confirms only the attempt with the given id': async (given) => {
      const { store, at } = given
      const pending = await given.reserve()
      await refused(() => given.confirm({ id: given.newId() }), 'OBJECT_NOT_FOUND')
      same(await store.find(at), pending, 'the pending row')
    },

    'refuses an attempt of another key': async (given) => {
      const { id } = await given.reserve({ key: 'another' })
      await given.reserve()
      await refused(() => given.confirm({ id }), 'OBJECT_NOT_FOUND')
      sameFields(await given.store.find({ bucket: 'bucket', key: 'another' }), { status: 'pending' })
    },

    'refuses a released attempt': async (given) => {
      const { id } = await given.reserve()
      await given.store.release(given.at)
      await refused(() => given.confirm({ id }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm(), 'OBJECT_NOT_FOUND')
    },

    'accepts a repeat by the attempt of the active row with the same size': async (given) => {
      const { store, clock, at } = given
      const { id } = await given.reserve()
      const active = await given.confirm({ id, eTag: 'etag', contentType: 'text/plain' })
      clock.advance(MINUTE)
      same(await given.confirm({ id }), active, 'a repeat without eTag')
      same(await given.confirm({ id, eTag: 'etag' }), active, 'a repeat with the same eTag')
      same(
        await given.confirm({ id, eTag: 'etag', contentType: 'text/html' }),
        active,
        'another content type',
      )
      same(await given.confirm({ id, quota: { maxBytes: 0, maxFiles: 0 } }), active, 'a repeat with a quota')
      same(await given.confirm({ id, scope: given.scope }), active, 'a repeat with the scope')
      same(await store.find(at), active, 'the result of find')
    },

    'refuses a repeat with another size or another eTag': async (given) => {
      const { id } = await given.reserve()
      const active = await given.confirm({ id, eTag: 'etag' })
      await refused(() => given.confirm({ id, size: 11 }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ id, eTag: 'another' }), 'OBJECT_NOT_FOUND')
      same(await given.store.find(given.at), active, 'the active row')
    },

    'refuses a repeat with an eTag if the active row has none': async (given) => {
      const { id } = await given.reserve()
      await given.confirm({ id })
      await refused(() => given.confirm({ id, eTag: 'etag' }), 'OBJECT_NOT_FOUND')
    },

    'accepts a repeat while a replacement is pending, and keeps the replacement pending': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const pending = await given.reserve()
      same(await given.confirm({ id: active.attemptId }), active, 'a repeat of the earlier confirm')
      same(await store.findPending(at), pending, 'the replacement')
    },

    'refuses a repeat by a replaced attempt, or by the id of the object': async (given) => {
      const first = await given.activate()
      const second = await given.activate()
      same(second.id, first.id, 'the id of the object')
      await refused(() => given.confirm({ id: first.attemptId }), 'OBJECT_NOT_FOUND')
      same(await given.confirm({ id: second.attemptId }), second, 'a repeat of the replacement')
    },

    'accepts a repeat without an id if size and eTag match the active row': async (given) => {
      const active = await given.activate({}, { eTag: 'etag' })
      given.clock.advance(MINUTE)
      same(await given.confirm({ eTag: 'etag' }), active)
      await refused(() => given.confirm(), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ eTag: 'another' }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ eTag: 'etag', size: 11 }), 'OBJECT_NOT_FOUND')
    },

    'refuses a repeat without an id if the active row has no eTag': async (given) => {
      await given.activate()
      await refused(() => given.confirm({ eTag: 'etag' }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm(), 'OBJECT_NOT_FOUND')
    },

    'refuses a repeat after the object was removed': async (given) => {
      const { store, at } = given
      const active = await given.activate({}, { eTag: 'etag' })
      const deleted = await store.remove(at)
      await refused(() => given.confirm({ id: active.attemptId, eTag: 'etag' }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ eTag: 'etag' }), 'OBJECT_NOT_FOUND')
      same(await store.find(at), deleted, 'the history')
    },

    'treats the key of another scope as not found': async (given) => {
      const { store, at, scope, otherScope } = given
      const pending = await given.reserve()
      await refused(() => given.confirm({ scope: otherScope }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ scope: otherScope, id: pending.id }), 'OBJECT_NOT_FOUND')
      same(await store.find(at), pending, 'the pending row')
      const active = await given.confirm({ scope, eTag: 'etag' })
      await refused(() => given.confirm({ scope: otherScope, id: pending.id }), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ scope: otherScope, eTag: 'etag' }), 'OBJECT_NOT_FOUND')
      same(await store.find(at), active, 'the active row')
    },

    'works on an expired reservation until it is dropped': async (given) => {
      const { store, clock } = given
      const late = await given.reserve({ expiresAt: clock.in(SECOND) })
      const tooLate = await given.reserve({ key: 'another', expiresAt: clock.in(SECOND) })
      clock.advance(HOUR)
      sameFields(await given.confirm({ id: late.id }), {
        id: late.id,
        status: 'active',
        confirmedAt: clock.now(),
      })
      await store.purgeExpired()
      await refused(() => given.confirm({ key: 'another', id: tooLate.id }), 'OBJECT_NOT_FOUND')
      sameFields(await store.find(given.at), { status: 'active' })
    },

    'updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt':
      async (given) => {
        const { store, clock, at, scope } = given
        const first = await given.activate(
          { route: 'r1', filename: 'f1', contentType: 'c1', metadata: { n: '1' }, storageKey: 's1' },
          { eTag: 'e1' },
        )
        clock.advance(MINUTE)
        const attempt = await given.reserve({
          declaredSize: 3,
          filename: 'f2',
          metadata: { m: '2' },
          storageKey: 's2',
        })
        clock.advance(MINUTE)
        const second = await given.confirm({ id: attempt.id, size: 4 })
        same(second, {
          ...first,
          attemptId: attempt.id,
          route: null,
          filename: 'f2',
          contentType: null,
          size: 4,
          eTag: null,
          metadata: { m: '2' },
          storageKey: 's2',
          updatedAt: clock.now(),
          confirmedAt: clock.now(),
        })
        same(await store.find(at), second, 'the result of find')
        same(await store.findPending(at), null, 'the pending row')
        same((await store.listByScope({ scope })).objects, [second], 'all rows of the scope')
      },

    'keeps the id of the first attempt through many replacements': async (given) => {
      const first = await given.activate()
      for (const size of [1, 2, 3]) {
        const row = await given.activate({ declaredSize: size })
        sameFields(row, { id: first.id, createdAt: first.createdAt, size })
      }
      same(await given.store.countByScope(given.scope), 1, 'rows of the scope')
    },

    'creates a new object if the key was removed before': async (given) => {
      const { store, at, scope } = given
      const first = await given.activate()
      await store.remove(at)
      const second = await given.activate()
      same(second.id > first.id, true, 'whether the new object has a new id')
      same(await store.countByScope(scope, 'deleted'), 1, 'rows of history')
    },
  },
}
