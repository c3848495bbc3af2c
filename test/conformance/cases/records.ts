import { holds, refusedField, same } from '../assertions.js'
import { isAttemptId } from '../attempt-ids.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import { EMPTY_ROW } from '../empty-row.js'
import type { CaseGroup } from '../given.js'
import { idsOf } from '../given.js'

export const recordCases: CaseGroup = {
  title: 'records',
  cases: {
    'has every field in a pending row, with null for what is absent': async ({ store, clock, at, scope }) => {
      const row = await store.reserve({ scope, ...at, declaredSize: 7, expiresAt: clock.in(HOUR) })
      same(row, {
        ...EMPTY_ROW,
        id: row.id,
        attemptId: row.id,
        scope,
        ...at,
        status: 'pending',
        declaredSize: 7,
        expiresAt: clock.in(HOUR),
        createdAt: clock.now(),
        updatedAt: clock.now(),
      })
      same(await store.find(at), row, 'the result of find')
    },

    'has every field in an active row, with null for what belongs to uploads': async ({
      store,
      clock,
      at,
      scope,
    }) => {
      const began = clock.now()
      const pending = await store.reserve({
        scope,
        ...at,
        declaredSize: 7,
        expiresAt: clock.in(HOUR),
        route: 'route',
        filename: 'file.txt',
        contentType: 'text/plain',
        metadata: { name: 'value' },
        storageKey: 'stored',
        uploadId: 'upload',
      })
      clock.advance(MINUTE)
      const row = await store.confirm({ ...at, id: pending.id, size: 8, eTag: 'etag' })
      same(row, {
        ...EMPTY_ROW,
        id: pending.id,
        attemptId: pending.id,
        scope,
        ...at,
        status: 'active',
        route: 'route',
        filename: 'file.txt',
        contentType: 'text/plain',
        size: 8,
        eTag: 'etag',
        metadata: { name: 'value' },
        storageKey: 'stored',
        createdAt: began,
        updatedAt: clock.now(),
        confirmedAt: clock.now(),
      })
      same(await store.find(at), row, 'the result of find')
    },

    'keeps every field of an object in its history': async (given) => {
      const { store, clock, at } = given
      const active = await given.activate(
        {
          route: 'route',
          filename: 'file.txt',
          contentType: 'text/plain',
          metadata: { name: 'value' },
          storageKey: 'stored',
        },
        { eTag: 'etag' },
      )
      clock.advance(MINUTE)
      const row = await store.remove(at)
      same(row, { ...active, status: 'deleted', updatedAt: clock.now(), deletedAt: clock.now() })
      same(await store.find(at), row, 'the result of find')
    },

    'makes UUIDv7 ids that sort by creation, even if the clock stands still or goes back': async (given) => {
      const ids: string[] = []
      for (const step of [0, 0, 0, SECOND, -HOUR, 0, 1, 2 * HOUR]) {
        given.clock.advance(step)
        const { id } = await given.reserve({ key: `key ${ids.length}` })
        const time = parseInt(id.replaceAll('-', '').slice(0, 12), 16)
        holds(time >= given.clock.time, `the time in "${id}" is before that of the clock`)
        ids.push(id)
      }
      for (const id of ids) holds(isAttemptId(id), `"${id}" is no lower-case, hyphenated UUIDv7`)
      same(ids, [...new Set(ids)].sort(), 'the ids in order of creation')
    },

    'keeps dates to the millisecond': async (given) => {
      const { store, clock, at } = given
      clock.advance(123)
      const pending = await given.reserve({ expiresAt: clock.in(4567) })
      same((await store.find(at))?.expiresAt, pending.expiresAt, 'expiresAt')
      same(pending.expiresAt, clock.in(4567), 'expiresAt')
      same(pending.createdAt, clock.now(), 'createdAt')
      clock.advance(1)
      same((await given.confirm()).confirmedAt, clock.now(), 'confirmedAt')
      clock.advance(1)
      await store.remove(at)
      same((await store.find(at))?.deletedAt, clock.now(), 'deletedAt')
    },

    'keeps dates up to the last millisecond of the year 9999': async (given) => {
      const { store, at } = given
      const end = new Date('9999-12-31T23:59:59.999Z')
      await given.reserve({ expiresAt: end, storageKey: 'stored' })
      same((await store.find(at))?.expiresAt, end, 'expiresAt')
      await store.release(at)
      same((await given.leftovers())[0]?.writableUntil, end, 'writableUntil')
      await refusedField(() => given.reserve({ expiresAt: new Date(end.getTime() + 1) }), 'expiresAt')
    },

    'updates updatedAt with every change of the row, and never createdAt': async (given) => {
      const { store, clock, at } = given
      const { id, createdAt } = await given.reserve()
      clock.advance(SECOND)
      const row = await store.setUploadId({ ...at, id, uploadId: 'upload' })
      same(
        [row.createdAt, row.updatedAt],
        [createdAt, clock.now()],
        'createdAt and updatedAt after setUploadId',
      )
      clock.advance(SECOND)
      const active = await given.confirm()
      same(
        [active.createdAt, active.updatedAt],
        [createdAt, clock.now()],
        'createdAt and updatedAt after confirm',
      )
      clock.advance(SECOND)
      const deleted = await store.remove(at)
      same(
        [deleted?.createdAt, deleted?.updatedAt],
        [createdAt, clock.now()],
        'createdAt and updatedAt after remove',
      )
    },

    'keeps sizes exactly, from 0 to the largest safe integer': async (given) => {
      const { store } = given
      const sizes = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1]
      for (const [index, size] of sizes.entries()) {
        const at = { bucket: 'bucket', key: `key ${index}` }
        await given.reserve({ ...at, scope: `scope ${index}`, declaredSize: size })
        same((await store.find(at))?.declaredSize, size, 'declaredSize')
        await store.confirm({ ...at, size })
        same((await store.find(at))?.size, size, 'size')
        same((await store.getScopeUsage(`scope ${index}`)).bytes, size, 'bytes')
      }
    },

    'sorts rows by id, even if another clock made the ids': async (given) => {
      const { store, scope } = given
      const late = 'ffffffff-ffff-7fff-bfff-ffffffffffff'
      const early = '00000000-0000-7000-8000-000000000000'
      const made = await given.reserve({ key: 'made' })
      await given.reserve({ key: 'late', id: late })
      await given.reserve({ key: 'early', id: early })
      same(idsOf((await store.listByScope({ scope })).objects), [late, made.id, early], 'ids, newest first')
    },
  },
}
