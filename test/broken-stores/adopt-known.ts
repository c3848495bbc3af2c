import { SCRIPTS, gap, overDriver, driverResult, driverCall, type Mutants } from './mutant.js'

/** Mutants of what `adopt` knows already. */
export const adoptKnownMutants: Mutants = {
  'adopts the bytes of a pending upload': [
    driverResult('adopt', (result) =>
      result.outcome === 'known' && result.object?.status === 'pending' && result.object.storageKey !== null
        ? { outcome: 'key-conflict' }
        : result,
    ),
    'adopt of known bytes: returns the live row with the storage key, and changes nothing',
    'adopt of known bytes: returns an active row before a pending one, then the one with the lowest key in byte order',
    'adopt of known bytes: is not refused, even if another object has the key',
  ],
  'adopts bytes that a row names by its key': [
    driverResult('adopt', (result) =>
      result.outcome === 'known' && result.object?.storageKey === null ? { ...result, object: null } : result,
    ),
    'adopt of known bytes: finds a row without a storage key by its key',
  ],
  'takes every key for a name of bytes': [
    driverCall('adopt', async (command, driver) => {
      const row = await driver.findActive({ ...command, key: command.storageKey })
      const isOther = row !== null && row.key !== command.key
      return isOther ? { outcome: 'known', object: row, scopes: [] } : driver.adopt(command)
    }),
    'adopt of known bytes: ignores the key of a row that has a storage key',
  ],
  'adopts the bytes of leftovers that have only an upload': [
    driverResult('adopt', async (result, command, driver) => {
      if (result.outcome !== 'known' || result.object !== null) return result
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      const isNamed = leftovers.some(({ storageKey }) => storageKey === command.storageKey)
      return isNamed ? result : { outcome: 'key-conflict' }
    }),
    'adopt of known bytes: returns null for a leftover',
  ],
  'never adopts the bytes of history': [
    driverCall('adopt', async (command, driver) => {
      const rows = await driver.list({
        scope: command.scope,
        statuses: ['deleted'],
        route: null,
        limit: 1000,
        before: null,
        withMetadata: true,
        fromPrimary: true,
      })
      const isHistory = rows.some(({ storageKey }) => storageKey === command.storageKey)
      return isHistory ? { outcome: 'known', object: null, scopes: [] } : driver.adopt(command)
    }),
    'adopt of known bytes: adopts the bytes of history once their leftover is forgotten',
  ],
  'looks for adopted bytes in all buckets': [
    driverCall('adopt', async (command, driver) => {
      const other = await driver.listStored({
        bucket: 'another',
        prefix: command.storageKey,
        after: null,
        limit: 1,
        withMetadata: true,
      })
      const isOther = command.bucket !== 'another' && other[0]?.storageKey === command.storageKey
      return isOther ? { outcome: 'known', object: null, scopes: [] } : driver.adopt(command)
    }),
    'adopt of known bytes: looks only in the bucket of the bytes',
  ],
  'returns any row that names adopted bytes': [
    driverResult('adopt', async (result, command, driver) => {
      if (result.outcome !== 'known' || !result.object) return result
      const { bucket, storageKey } = command
      const named = await driver.listStored({
        bucket,
        prefix: storageKey,
        after: null,
        limit: 1000,
        withMetadata: true,
      })
      const rows = named.filter((item) => item.storageKey === storageKey && item.object?.key !== command.key)
      const first = rows
        .map(({ object }) => object)
        .filter((row) => row !== undefined)
        .sort((a, b) => (a.key < b.key ? -1 : 1))[0]
      return { ...result, object: first ?? result.object }
    }),
    'adopt of known bytes: returns an active row before a pending one, then the one with the lowest key in byte order',
  ],
  'returns a leftover before a live row': [
    driverResult('adopt', async (result, command, driver) => {
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      const isNamed = leftovers.some(
        ({ bucket, storageKey }) => bucket === command.bucket && storageKey === command.storageKey,
      )
      return result.outcome === 'known' && isNamed ? { ...result, object: null } : result
    }),
    'adopt of known bytes: returns a live row before a leftover',
  ],
  'refuses known bytes at the key of another object': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      const isForeign = active !== null && active.scope !== command.scope
      return isForeign ? { outcome: 'key-conflict' } : driver.adopt(command)
    }),
    'adopt of known bytes: is not refused, even if another object has the key',
  ],
  'looks for known bytes before it writes an adoption, not as part of it': [
    overDriver((driver) => {
      const kept = new Map<string, string>()
      return {
        async adopt(command) {
          const known = await driver.listStored({
            bucket: command.bucket,
            prefix: command.storageKey,
            after: null,
            limit: 1,
            withMetadata: true,
          })
          await gap()
          if (known[0]?.storageKey === command.storageKey) return driver.adopt(command)
          const result = await driver.adopt(command)
          if (result.outcome === 'known' && result.object) kept.set(command.id, command.storageKey)
          return result.outcome === 'known' && result.object ? { outcome: 'key-conflict' } : result
        },
      }
    }),
    SCRIPTS.overAdoptedBytes,
  ],
}
