import { refused, refusedField, same, sameFields } from '../assertions.js'
import { HOUR, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'

export const setUploadIdCases: CaseGroup = {
  title: 'setUploadId',
  cases: {
    'sets the upload id of the attempt': async (given) => {
      const { store, clock, at } = given
      const pending = await given.reserve()
      clock.advance(SECOND)
      const row = await store.setUploadId({ ...at, id: pending.id, uploadId: 'upload' })
      same(row, { ...pending, uploadId: 'upload', updatedAt: clock.now() })
      same(await store.find(at), row, 'the result of find')
    },

    'changes nothing if the same upload id is set again': async (given) => {
      const { store, clock, at } = given
      const { id } = await given.reserve()
      const row = await store.setUploadId({ ...at, id, uploadId: 'upload' })
      clock.advance(SECOND)
      same(await store.setUploadId({ ...at, id, uploadId: 'upload' }), row)
      same(await store.find(at), row, 'the result of find')
    },

    'refuses another upload id': async (given) => {
      const { store, at } = given
      const { id } = await given.reserve({ uploadId: 'upload' })
      const another = { ...at, id, uploadId: 'another' }
      await refusedField(() => store.setUploadId(another), 'uploadId')
      sameFields(await store.find(at), { uploadId: 'upload' })
    },

    'refuses an ended attempt': async (given) => {
      const { store, at } = given
      const displaced = await given.reserve()
      const confirmed = await given.reserve()
      await refused(
        () => store.setUploadId({ ...at, id: displaced.id, uploadId: 'upload' }),
        'OBJECT_NOT_FOUND',
      )
      sameFields(await store.find(at), { id: confirmed.id, uploadId: null })
      await given.confirm()
      await refused(
        () => store.setUploadId({ ...at, id: confirmed.id, uploadId: 'upload' }),
        'OBJECT_NOT_FOUND',
      )
      const released = await given.reserve({ key: 'another' })
      await store.release({ ...at, key: 'another' })
      const late = { ...at, key: 'another', id: released.id, uploadId: 'upload' }
      await refused(() => store.setUploadId(late), 'OBJECT_NOT_FOUND')
    },

    'refuses an attempt of another key': async (given) => {
      const { id } = await given.reserve({ key: 'another' })
      await given.reserve()
      await refused(
        () => given.store.setUploadId({ ...given.at, id, uploadId: 'upload' }),
        'OBJECT_NOT_FOUND',
      )
    },

    'works on an expired reservation until it is dropped': async (given) => {
      const { store, clock, at } = given
      const { id } = await given.reserve()
      clock.advance(2 * HOUR)
      sameFields(await store.setUploadId({ ...at, id, uploadId: 'upload' }), { uploadId: 'upload' })
      await store.purgeExpired()
      await refused(() => store.setUploadId({ ...at, id, uploadId: 'upload' }), 'OBJECT_NOT_FOUND')
    },
  },
}

export const releaseCases: CaseGroup = {
  title: 'release',
  cases: {
    'removes the pending row and returns it unchanged': async (given) => {
      const { store, clock, at } = given
      const row = await given.reserve({
        uploadId: 'upload',
        storageKey: 'stored',
        metadata: { name: 'value' },
      })
      clock.advance(SECOND)
      same(await store.release(at), row)
      same(await store.find(at), null, 'the result of find')
      same(await store.countByScope(given.scope), 0, 'rows of the scope')
    },

    'returns null if nothing is pending': async (given) => {
      const { store, at } = given
      same(await store.release(at), null, 'release of an unknown key')
      const active = await given.activate()
      same(await store.release(at), null, 'release of an active object')
      same(await store.release({ ...at, id: active.id }), null, 'release of an active object by its id')
      same(await store.find(at), active, 'the active row')
    },

    'releases only the attempt with the given id and upload id': async (given) => {
      const { store, at } = given
      const row = await given.reserve({ uploadId: 'upload' })
      same(await store.release({ ...at, id: given.newId() }), null, 'release of another id')
      same(await store.release({ ...at, uploadId: 'another' }), null, 'release of another upload id')
      same(
        await store.release({ ...at, id: row.id, uploadId: 'another' }),
        null,
        'release of the id and another upload id',
      )
      same(
        await store.release({ ...at, id: given.newId(), uploadId: 'upload' }),
        null,
        'release of another id with the upload id',
      )
      same(await store.find(at), row, 'the pending row')
      same(await store.release({ ...at, id: row.id, uploadId: 'upload', scope: given.scope }), row)
    },

    'ignores an attempt without an upload id if an upload id is given': async (given) => {
      const { store, at } = given
      await given.reserve()
      same(await store.release({ ...at, uploadId: 'upload' }), null)
      sameFields(await store.find(at), { status: 'pending' })
    },

    'keeps a newer attempt when an older one is aborted': async (given) => {
      const { store, at } = given
      const old = await given.reserve({ uploadId: 'upload' })
      const newer = await given.reserve({ uploadId: 'newer upload' })
      same(await store.release({ ...at, id: old.id }), null, 'the abort of the old attempt')
      same(await store.release({ ...at, uploadId: 'upload' }), null, 'the abort of the old upload')
      same(await store.find(at), newer, 'the newer attempt')
    },

    'keeps the object that the attempt would have replaced': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const pending = await given.reserve()
      same(await store.release(at), pending)
      same(await store.find(at), active, 'the object')
    },

    'treats the key of another scope as not found': async (given) => {
      const { store, at, scope, otherScope } = given
      const row = await given.reserve()
      same(await store.release({ ...at, scope: otherScope }), null, "another scope's release")
      same(
        await store.release({ ...at, scope: otherScope, id: row.id }),
        null,
        "another scope's release by id",
      )
      same(await store.find(at), row, 'the pending row')
      same(await store.release({ ...at, scope }), row)
    },

    'works on an expired reservation': async (given) => {
      const { store, clock, at } = given
      const row = await given.reserve()
      clock.advance(2 * HOUR)
      same(await store.release({ ...at, id: row.id }), row)
    },
  },
}
