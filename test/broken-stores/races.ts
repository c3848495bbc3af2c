import { StorageError } from '../../src/adapter.js'
import {
  NO_QUOTA,
  SCRIPTS,
  gap,
  overDriver,
  overStore,
  overTables,
  driverInput,
  storeCall,
  driverCall,
  type Mutants,
} from './mutant.js'

const SHOWN_ONCE = 'concurrency: lists and counts show a row exactly once while its status changes'

/** These stores are correct as long as each call ends before the next begins. */
export const raceMutants: Mutants = {
  'checks the quota before the write of a reserve, not as part of it': [
    driverInput('reserve', async (command, driver) => {
      const { bytes, files, reservedBytes, reservedFiles } = await driver.usage(command.scope)
      const { maxBytes, maxFiles } = command.quota
      const fits =
        (maxBytes === null || bytes + reservedBytes + command.declaredSize <= maxBytes) &&
        (maxFiles === null || files + reservedFiles + 1 <= maxFiles)
      if (!fits) return command
      await gap()
      return { ...command, quota: NO_QUOTA }
    }),
    'concurrency: reserves fill the quota of files exactly',
    'concurrency: reserves fill the quota of bytes as far as possible without exceeding it',
    SCRIPTS.overAQuota,
  ],
  'checks the quota before the write of a confirm, not as part of it': [
    driverInput('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      if (!pending || (await driver.findActive(command))) return command
      const { bytes, reservedBytes } = await driver.usage(pending.scope)
      const max = command.quota.maxBytes
      const fits = max === null || bytes + reservedBytes - pending.declaredSize! + command.size <= max
      await gap()
      return fits ? { ...command, quota: NO_QUOTA } : command
    }),
    'concurrency: confirms that grow never exceed the quota',
    SCRIPTS.overAQuota,
  ],
  'checks the owner of a key before the write, not as part of it': [
    driverInput('reserve', async (command, driver) => {
      const row = await driver.find(command)
      const foreign = row !== null && row.status !== 'deleted' && row.scope !== command.scope
      if (foreign) return command
      await gap()
      const taken = await driver.findPending({ ...command, id: null, uploadId: null })
      if (taken && taken.scope !== command.scope)
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return command
    }),
    'concurrency: only one of many scopes gets a key',
    SCRIPTS.overOneKey,
  ],
  'lets the last upload id win': [
    storeCall('setUploadId', async (input, store) => {
      const { bucket, key, id } = input
      const pending = await store.findPending({ bucket, key }).catch(() => null)
      if (!pending || pending.id !== id || pending.uploadId !== null) return store.setUploadId(input)
      await gap()
      return store.setUploadId(input).catch(() => ({ ...pending, uploadId: input.uploadId }))
    }),
    'concurrency: only one of several upload ids is set',
    SCRIPTS.overOneKey,
  ],
  'confirms an attempt that was released in the meantime': [
    storeCall('confirm', async (input, store) => {
      const pending = await store.findPending({ ...input, uploadId: null }).catch(() => null)
      await gap()
      return store.confirm(input).catch(async (error: unknown) => {
        if (!pending || !(error instanceof StorageError) || error.code !== 'OBJECT_NOT_FOUND') throw error
        const { scope, bucket, key, declaredSize, expiresAt } = pending
        await store.reserve({ scope, bucket, key, declaredSize: declaredSize!, expiresAt: expiresAt! })
        return store.confirm({ ...input, id: null })
      })
    }),
    'concurrency: either confirm or release wins an attempt',
    SCRIPTS.overOneKey,
  ],
  'refuses a confirm if its repeat was faster': [
    overDriver((driver) => {
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
    'concurrency: repeats of one confirm create one object',
  ],
  'refuses a reserve if its repeat was faster': [
    overStore((store) => {
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
    'concurrency: repeats of one reserve create one attempt',
  ],
  'omits an object from lists while its replacement is being confirmed': [
    overDriver((driver) => {
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
    'concurrency: an object that stays active is in every listing of active rows exactly once',
  ],
  'removes the object and its replacement in two steps': [
    driverInput('remove', async (command, driver) => {
      const scope = command.scope
      const active = await driver.findActive(command)
      if (!active || (scope !== null && active.scope !== scope)) return command
      await driver.release({ ...command, id: null, uploadId: null })
      await gap()
      return command
    }),
    SCRIPTS.overOneKey,
  ],
  'returns usage from a cache filled before a write': [
    overDriver((driver) => {
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
    SCRIPTS.concurrent,
  ],
  'checks the owner of an expired key before the write, not as part of it': [
    driverInput('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const isExpired = pending && pending.scope !== command.scope && pending.expiresAt! <= command.now
      if (!isExpired) return command
      await gap()
      const taken = await driver.findPending({ ...command, id: null, uploadId: null })
      if (taken && taken.id !== pending.id)
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return command
    }),
    'concurrency: only one of many scopes takes over an expired reservation',
  ],
  'counts an object and its replacement while it is being replaced': [
    overDriver((driver) => {
      let replacing = 0
      return {
        async confirm(command) {
          if ((await driver.findActive(command)) === null) return driver.confirm(command)
          replacing++
          await gap()
          replacing--
          return driver.confirm(command)
        },
        async usage(scope) {
          const usage = await driver.usage(scope)
          return { ...usage, files: usage.files + replacing }
        },
      }
    }),
    'concurrency: usage never exceeds what the scope holds while objects are replaced',
  ],
  'lists pending and active rows in two steps': [
    driverCall('list', async (query, driver) => {
      if (query.statuses.length < 2) return driver.list(query)
      const pages = []
      for (const status of query.statuses) {
        pages.push(await driver.list({ ...query, statuses: [status] }))
        await gap()
      }
      return pages
        .flat()
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, query.limit)
    }),
    SHOWN_ONCE,
  ],
  'counts pending and active rows in two steps': [
    driverCall('count', async (query, driver) => {
      let rows = 0
      for (const status of query.statuses) {
        rows += await driver.count({ ...query, statuses: [status] })
        await gap()
      }
      return rows
    }),
    SHOWN_ONCE,
  ],
  'writes the leftover of a release a step later': [
    overTables((tables, driver) => ({
      async release(command) {
        const set = tables.leftovers.set.bind(tables.leftovers)
        const late: Parameters<typeof set>[0][] = []
        tables.leftovers.set = (leftover) => late.push(leftover)
        // The memory driver has written when it returns its promise.
        const result = driver.release(command)
        tables.leftovers.set = set
        await gap()
        for (const leftover of late) set(leftover)
        return result
      },
    })),
    'concurrency: a leftover is listed as soon as its attempt is gone, however that ended',
    SCRIPTS.overOneKey,
  ],
}
