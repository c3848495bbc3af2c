import type { StorageObject } from '../../../src/core/store/records.js'
import type { Observed } from '../outcome.js'
import { observed } from '../outcome.js'
import { holds, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

/** Runs the calls concurrently and groups their outcomes. */
async function concurrently(calls: readonly (() => Promise<unknown>)[]) {
  const outcomes: Observed[] = await allOf(calls.map((call) => observed(call)))
  const unexpected = outcomes.find((outcome) => 'crash' in outcome)
  if (unexpected && 'crash' in unexpected) throw unexpected.crash
  return {
    done: outcomes.flatMap((outcome) => ('ok' in outcome ? [outcome.ok as StorageObject] : [])),
    refused: outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : [])),
  }
}

export const concurrencyCases: CaseGroup = {
  title: 'concurrency',
  cases: {
    'reserves fill the quota of files exactly': async (given) => {
      const { store, scope } = given
      const quota = { maxFiles: 7 }
      const { done, refused } = await concurrently(
        numbers(20).map((n) => () => given.reserve({ key: `key ${n}`, quota })),
      )
      same(done.length, 7, 'accepted reserves')
      same(
        refused,
        numbers(13).map(() => 'QUOTA_EXCEEDED'),
        'codes of the refused calls',
      )
      sameFields(await store.getScopeUsage(scope), { reservedFiles: 7, reservedBytes: 70 })
    },

    'reserves fill the quota of bytes as far as possible without exceeding it': async (given) => {
      const { store, scope } = given
      const quota = { maxBytes: 59 }
      const { done, refused } = await concurrently(
        numbers(20).map((n) => () => given.reserve({ key: `key ${n}`, quota })),
      )
      same(done.length, 5, 'accepted reserves')
      same(
        refused,
        numbers(15).map(() => 'QUOTA_EXCEEDED'),
        'codes of the refused calls',
      )
      sameFields(await store.getScopeUsage(scope), { reservedFiles: 5, reservedBytes: 50 })
    },

    'confirms that grow never exceed the quota': async (given) => {
      const { store, scope } = given
      await given.reserveEach(numbers(10).map(() => ({ declaredSize: 1 })))
      const quota = { maxBytes: 30 }
      const { done } = await concurrently(
        numbers(10).map((n) => () => given.confirm({ key: `key ${n}`, size: 6, quota })),
      )
      same(done.length, 4, 'accepted confirms')
      sameFields(await store.getScopeUsage(scope), { bytes: 24, reservedBytes: 6 })
    },

    'only one of many scopes gets a key': async (given) => {
      const { store, at } = given
      const { done, refused } = await concurrently(
        numbers(10).map((n) => () => given.reserve({ scope: `scope ${n}` })),
      )
      same(done.length, 1, 'accepted reserves')
      same(
        refused,
        numbers(9).map(() => 'KEY_CONFLICT'),
        'codes of the refused calls',
      )
      same(await store.find(at), done[0], 'the result of find')
    },

    'only one of many scopes takes over an expired reservation': async (given) => {
      const { store, clock, at, scope } = given
      const { id } = await given.reserve({ storageKey: 'stored' })
      clock.advance(2 * HOUR)
      const { done } = await concurrently(numbers(8).map((n) => () => given.reserve({ scope: `scope ${n}` })))
      same(done.length, 1, 'accepted reserves')
      same(await store.find(at), done[0], 'the result of find')
      sameFields(await store.getScopeUsage(scope), { reservedBytes: 0, reservedFiles: 0 })
      same(
        (await given.leftovers()).map(({ attemptId }) => attemptId),
        [id],
        'attempts of leftovers',
      )
    },

    'reserves of one key leave one pending row and one leftover for each of the others': async (given) => {
      const { store, scope } = given
      const { done } = await concurrently(
        numbers(8).map((n) => () => given.reserve({ storageKey: `stored ${n}` })),
      )
      same(done.length, 8, 'accepted reserves')
      const { objects } = await store.listByScope({ scope })
      same(objects.length, 1, 'pending rows')
      const attempts = (await given.leftovers()).map(({ attemptId }) => attemptId)
      same(
        [...attempts, objects[0]!.id].sort(),
        idsOf(done).sort(),
        'attempts of the pending row and the leftovers',
      )
    },

    'repeats of one reserve create one attempt': async (given) => {
      const id = given.newId()
      const { done } = await concurrently(
        numbers(6).map(() => () => given.reserve({ id, storageKey: 'stored' })),
      )
      same(done.length, 6, 'accepted reserves')
      for (const row of done) same(row, done[0], 'the row of a repeat')
      same(await given.store.countByScope(given.scope), 1, 'rows of the scope')
      same(await given.leftovers(), [], 'leftovers')
    },

    'repeats of one confirm create one object': async (given) => {
      const { id } = await given.reserve()
      const { done } = await concurrently(numbers(6).map(() => () => given.confirm({ id, eTag: 'etag' })))
      same(done.length, 6, 'accepted confirms')
      for (const row of done) same(row, done[0], 'the row of a repeat')
      sameFields(await given.store.getScopeUsage(given.scope), { bytes: 10, files: 1, reservedBytes: 0 })
    },

    'either confirm or release wins an attempt': async (given) => {
      const { store } = given
      for (const round of numbers(10)) {
        const at = { bucket: 'bucket', key: `key ${round}` }
        const { id } = await given.reserve({ ...at, storageKey: `stored ${round}` })
        const confirm = () => store.confirm({ ...at, id, size: 10 })
        const release = () => store.release({ ...at, id })
        const { done, refused } = await concurrently(
          round % 2 === 0 ? [confirm, release] : [release, confirm],
        )
        const row = await store.find(at)
        const confirmed = row !== null
        same(refused, confirmed ? [] : ['OBJECT_NOT_FOUND'], 'codes of the refused calls')
        same(done.map((row) => row === null).includes(true), confirmed, 'whether release found nothing')
        const left = (await given.leftovers()).some(({ attemptId }) => attemptId === id)
        same(left, !confirmed, 'whether a leftover was recorded')
      }
    },

    'only one of several upload ids is set': async (given) => {
      const { store, at } = given
      const { id } = await given.reserve()
      const uploads = ['upload 1', 'upload 2', 'upload 3']
      const { done, refused } = await concurrently(
        uploads.map((uploadId) => () => store.setUploadId({ ...at, id, uploadId })),
      )
      same(refused, ['VALIDATION_ERROR', 'VALIDATION_ERROR'], 'codes of the refused calls')
      same(await store.find(at), done[0], 'the result of find')
    },

    'each expired row is returned by exactly one purge': async (given) => {
      const { store, clock } = given
      const rows = await given.reserveEach(numbers(12).map((n) => ({ storageKey: `stored ${n}` })))
      clock.advance(2 * HOUR)
      const purged: StorageObject[][] = await allOf(
        numbers(4).map((n) => store.purgeExpired(n % 2 === 0 ? {} : { limit: 5 })),
      )
      // A purge may skip rows that another purge works on.
      purged.push(await store.purgeExpired())
      same(idsOf(purged.flat()).sort(), idsOf(rows).sort(), 'ids, each once')
      same((await given.leftovers()).length, 12, 'number of leftovers')
    },

    'a purge never drops a confirmed row': async (given) => {
      const { store, clock, scope } = given
      await given.reserveEach(numbers(8).map(() => ({})))
      clock.advance(2 * HOUR)
      const confirms = numbers(8).map((n) => () => given.confirm({ key: `key ${n}` }))
      const purge = () => store.purgeExpired()
      const { refused } = await concurrently([...confirms.slice(0, 4), purge, ...confirms.slice(4)])
      await store.purgeExpired()
      const usage = await store.getScopeUsage(scope)
      same(
        usage,
        { bytes: 10 * usage.files, files: 8 - refused.length, reservedBytes: 0, reservedFiles: 0 },
        'usage',
      )
    },

    'a purge never drops a reservation that took the place of an expired one': async (given) => {
      const { store, clock } = given
      // Several rounds, because each purge must overlap the right moment of a reserve.
      for (const _ of numbers(4)) {
        await given.reserveEach(numbers(6).map(() => ({})))
        clock.advance(2 * HOUR)
        const rows: StorageObject[] = []
        const reserve = async (n: number) => void rows.push(await given.reserve({ key: `key ${n}` }))
        const purge = () => store.purgeExpired()
        await allOf<unknown>([
          purge(),
          reserve(0),
          reserve(1),
          reserve(2),
          purge(),
          reserve(3),
          reserve(4),
          reserve(5),
        ])
        for (const row of rows) same(await store.find(row), row, 'the result of find')
      }
    },

    'each row of history is counted by exactly one purge': async (given) => {
      const { store, clock, scope } = given
      for (const index of numbers(9)) await given.history({ key: `key ${index}` })
      clock.advance(MINUTE)
      const before = clock.now()
      const dropped = await allOf(numbers(3).map(() => store.purgeDeleted({ before })))
      dropped.push(await store.purgeDeleted({ before }))
      same(
        dropped.reduce((sum, count) => sum + count),
        9,
        'rows dropped in total',
      )
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of history')
    },

    'a leftover is forgotten by exactly one call': async (given) => {
      const { attemptId } = await given.history({ storageKey: 'stored' })
      const results = await allOf(numbers(5).map(() => given.store.forgetLeftover({ attemptId })))
      same(results.filter(Boolean).length, 1, 'successful calls')
    },

    'an object that stays active is in every listing of active rows exactly once': async (given) => {
      const { store, scope } = given
      const keys = numbers(6).map((n) => `key ${n}`)
      for (const key of keys) await given.activate({ key })
      const list = async () => {
        const shown: string[] = []
        let cursor: string | undefined
        do {
          const page = await store.listByScope({ scope, status: 'active', limit: 2, cursor })
          shown.push(...page.objects.map(({ key }) => key))
          cursor = page.nextCursor
        } while (cursor !== undefined && shown.length < 20)
        same(shown.sort(), keys, 'keys of all pages')
        same(await store.countByScope(scope, 'active'), 6, 'active rows')
      }
      for (const declaredSize of [1, 2, 3, 4, 5]) {
        let writing = true
        const replace = allOf(keys.map((key) => given.activate({ key, declaredSize })))
        const read = async () => {
          // The first list starts together with the writers, so it overlaps them even in a fast store.
          await list()
          while (writing) {
            // Lets the writers continue if the store is in this process.
            await new Promise((resolve) => setTimeout(resolve, 0))
            await list()
          }
        }
        await allOf<unknown>([read(), replace.finally(() => (writing = false))])
      }
    },

    'usage never exceeds what the scope holds while objects are replaced': async (given) => {
      const { store, scope } = given
      await given.activate({ declaredSize: 100 })
      const replace = async () => {
        for (const declaredSize of [50, 100, 20, 100]) await given.activate({ declaredSize })
      }
      const watch = async () => {
        for (const _ of numbers(12)) {
          const { bytes, files, reservedBytes, reservedFiles } = await store.getScopeUsage(scope)
          holds(
            files === 1 && reservedFiles === 0,
            `${files} files and ${reservedFiles} reserved, of one object`,
          )
          holds(bytes + reservedBytes <= 100, `${bytes} bytes and ${reservedBytes} reserved, of at most 100`)
        }
      }
      await allOf([replace(), watch()])
    },

    'lists and counts show a row exactly once while its status changes': async (given) => {
      const { store, scope } = given
      const keys = numbers(6).map((n) => `key ${n}`)
      for (const _ of numbers(4)) {
        for (const key of keys) await given.reserve({ key })
        const watch = async () => {
          const count = store.countByScope(scope)
          const [{ objects }, rows] = await Promise.all([store.listByScope({ scope }), count])
          same(objects.map(({ key }) => key).sort(), keys, 'keys of pending and active rows')
          same(rows, 6, 'pending and active rows')
        }
        // The first begins before any confirm, even if the store is in this process.
        const watching = [watch(), watch()]
        await allOf<unknown>([...watching, ...keys.map((key) => given.confirm({ key })), watch()])
        await allOf(keys.map((key) => store.remove({ bucket: 'bucket', key, mode: 'hard' })))
      }
    },

    'a leftover is listed as soon as its attempt is gone, however that ended': async (given) => {
      const { store, at } = given
      const endings: Record<string, (id: string) => Promise<unknown>> = {
        release: (id) => store.release({ ...at, id }),
        remove: () => store.remove(at),
        reserve: () => given.reserve(),
        purgeExpired: () => store.purgeExpired(),
      }
      for (const [ending, end] of [...Object.entries(endings), ...Object.entries(endings)]) {
        const { id } = await given.reserve({ storageKey: given.newId() })
        if (ending === 'purgeExpired') given.clock.advance(2 * HOUR)
        const watch = async () => {
          for (const _ of numbers(6)) {
            if ((await store.findPending({ ...at, id })) !== null) continue
            const attempts = (await given.leftovers()).map(({ attemptId }) => attemptId)
            holds(attempts.includes(id), `${ending}: the attempt is gone, but its leftover is not listed`)
          }
        }
        await allOf<unknown>([watch(), end(id), watch(), watch()])
        await store.release(at)
      }
    },
  },
}
