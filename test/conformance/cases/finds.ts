import { same } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'

export const findCases: CaseGroup = {
  title: 'find calls',
  cases: {
    'find returns the active row, else the pending row, else the newest deleted row, else null': async (
      given,
    ) => {
      const { store, at } = given
      same(await store.find(at), null, 'find of an unknown key')
      await given.history({ declaredSize: 1 })
      const newest = await given.history({ declaredSize: 2 })
      same(await store.find(at), newest, 'find with only history')
      const pending = await given.reserve()
      same(await store.find(at), pending, 'find with a pending row')
      const active = await given.confirm()
      await given.reserve()
      same(await store.find(at), active, 'find during a replacement')
    },

    'find returns the newest deleted row by id, not by date of removal': async (given) => {
      const { store, clock, at } = given
      const newer = await given.history({ id: 'ffffffff-0000-7000-8000-000000000000' })
      clock.advance(MINUTE)
      await given.history({ id: '00000000-0000-7000-8000-000000000000' })
      same(await store.find(at), newer)
    },

    'find and findActive return rows of any scope': async (given) => {
      const active = await given.activate({ scope: given.otherScope })
      same(await given.store.find(given.at), active, 'find')
      same(await given.store.findActive(given.at), active, 'findActive')
    },

    'find calls with a scope return a row only if it belongs to that scope': async (given) => {
      const { store, at, scope, otherScope } = given
      const calls = ['find', 'findActive', 'findPending'] as const
      await given.history({ scope: otherScope })
      await given.history()
      const deleted = await store.find(at)
      same(await store.find({ ...at, scope }), deleted, 'find of history')
      same(await store.find({ ...at, scope: otherScope }), null, 'find of older history')
      const active = await given.activate({ scope: otherScope })
      const pending = await given.reserve({ scope: otherScope })
      const rows = { find: active, findActive: active, findPending: pending }
      for (const call of calls) {
        same(await store[call]({ ...at, scope: otherScope }), rows[call], `${call} by the owner`)
        same(await store[call]({ ...at, scope }), null, `${call} by another scope`)
        same(await store[call]({ ...at, scope: null }), rows[call], `${call} without a scope`)
      }
    },

    'findActive returns the active row or null': async (given) => {
      const { store, at } = given
      same(await store.findActive(at), null, 'findActive of an unknown key')
      await given.reserve()
      same(await store.findActive(at), null, 'findActive with a pending row')
      const active = await given.confirm()
      await given.reserve()
      same(await store.findActive(at), active, 'findActive during a replacement')
      await store.remove(at)
      same(await store.findActive(at), null, 'findActive with only history')
    },

    'findPending returns the pending row or null': async (given) => {
      const { store, at } = given
      same(await store.findPending(at), null, 'findPending of an unknown key')
      await given.activate()
      same(await store.findPending(at), null, 'findPending with an active row')
      const pending = await given.reserve()
      same(await store.findPending(at), pending, 'findPending of a replacement')
      await store.remove(at)
      same(await store.findPending(at), null, 'findPending with only history')
    },

    'findPending returns only the attempt with the given id and upload id': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const pending = await given.reserve({ uploadId: 'upload' })
      const { id } = pending
      same(await store.findPending({ ...at, id, uploadId: 'upload' }), pending, 'by id and upload')
      same(await store.findPending({ ...at, id }), pending, 'by id')
      same(await store.findPending({ ...at, uploadId: 'upload' }), pending, 'by upload')
      same(await store.findPending({ ...at, id: active.id }), null, 'by the id of the object')
      same(await store.findPending({ ...at, uploadId: 'another' }), null, 'by another upload')
      same(await store.findPending({ ...at, id, uploadId: 'another' }), null, 'by id and another upload')
      same(
        await store.findPending({ ...at, id: active.id, uploadId: 'upload' }),
        null,
        'by another id and upload',
      )
    },

    'findPending also returns expired reservations': async (given) => {
      const pending = await given.reserve()
      given.clock.advance(2 * HOUR)
      same(await given.store.findPending(given.at), pending)
    },

    'findPendingMultipart returns the pending row with an upload id and the given declared size': async (
      given,
    ) => {
      const { store, at } = given
      const pending = await given.reserve({ declaredSize: 7, uploadId: 'upload' })
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), pending, 'the same size')
      same(await store.findPendingMultipart({ ...at, fileSize: 8 }), null, 'another size')
      same(await store.findPendingMultipart({ ...at, key: 'another', fileSize: 7 }), null, 'another key')
    },

    'findPendingMultipart ignores rows without an upload id, and active rows': async (given) => {
      const { store, at } = given
      const { id } = await given.reserve({ declaredSize: 7 })
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), null, 'without an upload id')
      const pending = await store.setUploadId({ ...at, id, uploadId: 'upload' })
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), pending, 'with an upload id')
      await given.confirm({ size: 7 })
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), null, 'confirmed')
    },

    'findPendingMultipart ignores expired rows': async (given) => {
      const { store, clock, at } = given
      const pending = await given.reserve({
        declaredSize: 7,
        uploadId: 'upload',
        expiresAt: clock.in(MINUTE),
      })
      clock.advance(MINUTE - 1)
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), pending, 'just before it expires')
      clock.advance(1)
      same(await store.findPendingMultipart({ ...at, fileSize: 7 }), null, 'when it expires')
    },
  },
}
