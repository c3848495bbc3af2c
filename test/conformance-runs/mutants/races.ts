import { StorageError } from '@svc/db'
import type { StorageObject } from '@svc/db'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

/** Lets every other call that is on its way go first: the gap between looking and writing. */
const gap = () => new Promise((resolve) => setImmediate(resolve))

const NO_QUOTA = { maxBytes: null, maxFiles: null }

/** Stores that are right as long as one call ends before the next begins. */
export const raceMutants: readonly Mutant[] = [
  {
    it: 'compares the quota before it writes, not with it',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { bytes, files, reservedBytes, reservedFiles } = await driver.usage(command.scope)
        const { maxBytes, maxFiles } = command.quota
        const fits =
          (maxBytes === null || bytes + reservedBytes + command.declaredSize <= maxBytes) &&
          (maxFiles === null || files + reservedFiles + 1 <= maxFiles)
        if (!fits) return driver.reserve(command)
        await gap()
        return driver.reserve({ ...command, quota: NO_QUOTA })
      },
    })),
    caughtBy: [
      'at once: many reserves never pass the quota of files, and reach it',
      'at once: many reserves never pass the quota of bytes, and come as near to it as fits',
      SCRIPTS.overAQuota,
    ],
  },
  {
    it: 'compares the quota of a confirm before it writes, not with it',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (!pending || (await driver.findActive(command))) return driver.confirm(command)
        const { bytes, reservedBytes } = await driver.usage(pending.scope)
        const max = command.quota.maxBytes
        const fits = max === null || bytes + reservedBytes - pending.declaredSize! + command.size <= max
        await gap()
        return driver.confirm(fits ? { ...command, quota: NO_QUOTA } : command)
      },
    })),
    caughtBy: ['at once: many confirms that grow never pass the quota', SCRIPTS.overAQuota],
  },
  {
    it: 'looks whose a key is before it takes it, not when',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const row = await driver.find(command)
        const foreign = row !== null && row.status !== 'deleted' && row.scope !== command.scope
        if (foreign) return driver.reserve(command)
        await gap()
        const taken = await driver.findPending({ ...command, id: null, uploadId: null })
        if (taken && taken.scope !== command.scope)
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        return driver.reserve(command)
      },
    })),
    caughtBy: ['at once: one of many scopes gets a key', SCRIPTS.overOneKey],
  },
  {
    it: 'answers a purged row to everybody who saw it lapsed',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const rows = await driver.listExpired({ ...command, after: null })
        await gap()
        const { scopes } = await driver.purgeExpired(command)
        return { rows, scopes }
      },
    })),
    caughtBy: ['at once: purges return each lapsed row to exactly one of them', SCRIPTS.overLapsed],
  },
  {
    it: 'purges a row that was confirmed since it was seen lapsed',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const rows = await driver.listExpired({ ...command, after: null })
        await gap()
        const purged: StorageObject[] = []
        for (const row of rows) {
          const result = await driver.release({ ...row, uploadId: null, now: command.now })
          if (result.row) purged.push(result.row)
          else if ((await driver.findActive(row))?.attemptId === row.id) {
            await driver.remove({ ...row, mode: 'hard', now: command.now })
          }
        }
        return { rows: purged, scopes: [] }
      },
    })),
    caughtBy: ['at once: a purge never drops what is confirmed', SCRIPTS.overLapsed],
  },
  {
    it: 'leaves lapsed rows because somebody works on others',
    createStore: overDriver((driver) => {
      let writing = 0
      return {
        async reserve(command) {
          writing++
          await gap()
          writing--
          return driver.reserve(command)
        },
        purgeExpired: async (command) =>
          writing > 0 ? { rows: [], scopes: [] } : driver.purgeExpired(command),
      }
    }),
    caughtBy: [SCRIPTS.overLapsed],
  },
  {
    it: 'counts the same history in every purge that saw it',
    createStore: overDriver((driver) => ({
      async purgeDeleted(command) {
        let dropped = 0
        for (const scope of ['alice', 'bob']) {
          const rows = await driver.list({
            scope,
            statuses: ['deleted'],
            route: null,
            before: null,
            limit: 1000,
          })
          dropped += rows.filter(({ deletedAt }) => deletedAt! <= command.before).length
        }
        await gap()
        const { scopes } = await driver.purgeDeleted(command)
        return { dropped: Math.min(dropped, command.limit), scopes }
      },
    })),
    caughtBy: ['at once: purges of history count each row once'],
  },
  {
    it: 'sets whatever upload id comes last',
    createStore: overStore((store) => ({
      async setUploadId(input) {
        const { bucket, key, id } = input
        const pending = await store.findPending({ bucket, key }).catch(() => null)
        if (!pending || pending.id !== id || pending.uploadId !== null) return store.setUploadId(input)
        await gap()
        return store.setUploadId(input).catch(() => ({ ...pending, uploadId: input.uploadId }))
      },
    })),
    caughtBy: ['at once: one of two upload ids is set', SCRIPTS.overOneKey],
  },
  {
    it: 'confirms what was released meanwhile',
    createStore: overStore((store) => ({
      async confirm(input) {
        const pending = await store.findPending({ ...input, uploadId: null }).catch(() => null)
        await gap()
        return store.confirm(input).catch(async (error: unknown) => {
          if (!pending || !(error instanceof StorageError) || error.code !== 'OBJECT_NOT_FOUND') throw error
          const { scope, bucket, key, declaredSize, expiresAt } = pending
          await store.reserve({ scope, bucket, key, declaredSize: declaredSize!, expiresAt: expiresAt! })
          return store.confirm({ ...input, id: null })
        })
      },
    })),
    caughtBy: ['at once: either confirm or release wins an attempt', SCRIPTS.overOneKey],
  },
  {
    it: 'refuses a confirm that another one was faster with',
    createStore: overDriver((driver) => {
      let waiting = 0
      return {
        async confirm(command) {
          const pending = await driver.findPending({ ...command, uploadId: null })
          if (!pending) return driver.confirm(command)
          for (let turns = ++waiting; turns > 0; turns--) await gap()
          waiting--
          const still = await driver.findPending({ ...command, uploadId: null })
          return still ? driver.confirm(command) : { outcome: 'not-found' }
        },
      }
    }),
    caughtBy: ['at once: repeats of one confirm make one object'],
  },
  {
    it: 'refuses a reserve that its own repeat was faster with',
    createStore: overStore((store) => {
      const beginning = new Set<string>()
      return {
        async reserve(input) {
          if (input.id == null) return store.reserve(input)
          if (beginning.has(input.id)) throw new StorageError('KEY_CONFLICT')
          beginning.add(input.id)
          await gap()
          beginning.delete(input.id)
          return store.reserve(input)
        },
      }
    }),
    caughtBy: ['at once: repeats of one reserve make one attempt'],
  },
  {
    it: 'shows an object of which the replacement is just confirmed nowhere',
    createStore: overDriver((driver) => {
      const replacing = new Set<string>()
      return {
        async confirm(command) {
          const name = JSON.stringify([command.bucket, command.key])
          if ((await driver.findActive(command)) === null) return driver.confirm(command)
          replacing.add(name)
          await gap()
          replacing.delete(name)
          return driver.confirm(command)
        },
        async list(query) {
          const rows = await driver.list(query)
          return rows.filter(({ bucket, key }) => !replacing.has(JSON.stringify([bucket, key])))
        },
      }
    }),
    caughtBy: ['at once: an object that stays active appears in every listing of active rows exactly once'],
  },
  {
    it: 'removes the object and its replacement one after the other',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const scope = command.scope
        const active = await driver.findActive(command)
        if (!active || (scope !== null && active.scope !== scope)) return driver.remove(command)
        await driver.release({ ...command, id: null, uploadId: null })
        await gap()
        return driver.remove(command)
      },
    })),
    caughtBy: [SCRIPTS.overOneKey],
  },
  {
    it: 'answers usage from a cache that is filled with what was read before a write',
    createStore: overDriver((driver) => {
      const cache = new Map<string, Awaited<ReturnType<typeof driver.usage>>>()
      return {
        async usage(scope) {
          const known = cache.get(scope)
          if (known) return known
          const usage = await driver.usage(scope)
          await gap()
          cache.set(scope, usage)
          return usage
        },
        async reserve(command) {
          const result = await driver.reserve(command)
          cache.clear()
          return result
        },
        async confirm(command) {
          const result = await driver.confirm(command)
          cache.clear()
          return result
        },
        async release(command) {
          const result = await driver.release(command)
          cache.clear()
          return result
        },
        async remove(command) {
          const result = await driver.remove(command)
          cache.clear()
          return result
        },
        async purgeExpired(command) {
          const result = await driver.purgeExpired(command)
          cache.clear()
          return result
        },
      }
    }),
    caughtBy: [SCRIPTS.atOnce],
  },
]
