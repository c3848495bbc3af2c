import { StorageError, type ScopeUsage } from '../../src/adapter.js'
import { NO_QUOTA, SCRIPTS, isOverQuota, overDriver, overStore, type Mutant } from './mutant.js'

const held = ({ bytes, reservedBytes }: ScopeUsage) => bytes + reservedBytes

export const quotaMutants: readonly Mutant[] = [
  {
    defect: 'checks the whole size of an overwrite against the quota',
    createStore: overStore((store) => ({
      async reserve(input) {
        const max = input.quota?.maxBytes
        const used = held(await store.getScopeUsage(input.scope))
        if (max != null && used + input.declaredSize > max) {
          const params = { limit: 'maxBytes', max, used, requested: input.declaredSize }
          throw new StorageError('QUOTA_EXCEEDED', { params })
        }
        return store.reserve(input)
      },
    })),
    rejectedBy: ['quota: checks only the growth of an overwrite', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'refuses to fill the quota of bytes exactly',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { ...command.quota, maxBytes: command.quota.maxBytes && command.quota.maxBytes - 1 },
        }),
    })),
    rejectedBy: ['quota: allows exactly maxBytes, and not one byte more', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'allows one file more than the quota',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { ...command.quota, maxFiles: command.quota.maxFiles && command.quota.maxFiles + 1 },
        }),
    })),
    rejectedBy: ['quota: allows exactly maxFiles, and not one file more', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'ignores the quota of a confirm',
    createStore: overDriver((driver) => ({
      confirm: (command) => driver.confirm({ ...command, quota: NO_QUOTA }),
    })),
    rejectedBy: [
      'quota: is checked again by confirm, for growth beyond the reservation',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    defect: 'releases an attempt whose confirm exceeds the quota',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        if (isOverQuota(result)) await driver.release({ ...command, uploadId: null })
        return result
      },
    })),
    rejectedBy: [
      'quota: is checked again by confirm, for growth beyond the reservation',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    defect: 'refuses every reserve of a scope over its quota',
    createStore: overStore((store) => ({
      async reserve(input) {
        const max = input.quota?.maxBytes
        const used = held(await store.getScopeUsage(input.scope))
        if (max != null && used > max) {
          throw new StorageError('QUOTA_EXCEEDED', { params: { limit: 'maxBytes', max, used, requested: 0 } })
        }
        return store.reserve(input)
      },
    })),
    rejectedBy: [
      'quota: allows a scope over its quota to replace a file with one that is not larger',
      SCRIPTS.aboutQuotas,
    ],
  },
  {
    defect: 'treats a quota of 0 as unlimited',
    createStore: overDriver((driver) => ({
      reserve: (command) =>
        driver.reserve({
          ...command,
          quota: { maxBytes: command.quota.maxBytes || null, maxFiles: command.quota.maxFiles || null },
        }),
    })),
    rejectedBy: ['quota: allows only changes without growth if the limits are 0', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'reports maxFiles before maxBytes',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        const { files, reservedFiles } = await driver.usage(command.scope)
        const [max, used] = [command.quota.maxFiles, files + reservedFiles]
        if (!isOverQuota(result) || max === null || used < max) return result
        return { outcome: 'maxFiles', max, used, reserved: reservedFiles, requested: 1 }
      },
    })),
    rejectedBy: ['quota: names maxBytes first if both limits are exceeded'],
  },
  {
    defect: 'reports only active bytes as used in a refusal',
    createStore: overStore((store) => ({
      async reserve(input) {
        return store.reserve(input).catch(async (error: unknown) => {
          if (!(error instanceof StorageError) || error.params?.['limit'] !== 'maxBytes') throw error
          const { bytes } = await store.getScopeUsage(input.scope)
          throw new StorageError('QUOTA_EXCEEDED', { params: { ...error.params, used: bytes } })
        })
      },
    })),
    rejectedBy: ['quota: checks the sum of stored and reserved bytes', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'checks only active bytes against the quota',
    createStore: overStore((store) => ({
      async reserve(input) {
        const { reservedBytes } = await store.getScopeUsage(input.scope)
        const maxBytes = input.quota?.maxBytes
        return store.reserve({
          ...input,
          quota: { ...input.quota, maxBytes: maxBytes == null ? null : maxBytes + reservedBytes },
        })
      },
    })),
    rejectedBy: ['quota: checks the sum of stored and reserved bytes', SCRIPTS.aboutQuotas],
  },
  {
    defect: 'allows one byte more than the quota if nothing is reserved',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { bytes, reservedBytes } = await driver.usage(command.scope)
        const max = command.quota.maxBytes
        if (max === null || bytes === 0 || reservedBytes > 0) return driver.reserve(command)
        return driver.reserve({ ...command, quota: { ...command.quota, maxBytes: max + 1 } })
      },
    })),
    rejectedBy: ['quota: allows exactly maxBytes, and not one byte more'],
  },
  {
    defect: 'excludes expired reservations from the quota',
    createStore: overStore((store) => ({
      async reserve(input) {
        const expired = await store.listExpired({ scope: input.scope })
        const freed = expired.reduce((sum, { declaredSize }) => sum + declaredSize!, 0)
        const max = input.quota?.maxBytes
        return store.reserve(
          max == null ? input : { ...input, quota: { ...input.quota, maxBytes: max + freed } },
        )
      },
    })),
    rejectedBy: ['quota: counts expired reservations until they are dropped'],
  },
  {
    defect: 'checks the quota of a scope against the usage of another',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { bytes } = await driver.usage('bob')
        const max = command.quota.maxBytes
        if (max === null || command.scope === 'bob') return driver.reserve(command)
        return driver.reserve({ ...command, quota: { ...command.quota, maxBytes: Math.max(0, max - bytes) } })
      },
    })),
    rejectedBy: ['quota: ignores the usage of other scopes'],
  },
  {
    defect: 'treats an empty quota as a quota of 0',
    createStore: overStore((store) => ({
      async reserve(input) {
        const isEmpty = input.quota != null && Object.keys(input.quota).length === 0
        return store.reserve(isEmpty ? { ...input, quota: { maxBytes: 0, maxFiles: 0 } } : input)
      },
    })),
    rejectedBy: ['quota: treats an absent limit as unlimited'],
  },
  {
    defect: 'drops the earlier attempt of a refused reserve',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        if (isOverQuota(result)) {
          await driver.release({ ...command, id: null, uploadId: null })
        }
        return result
      },
    })),
    rejectedBy: ['quota: changes nothing if it refuses'],
  },
  {
    defect: 'refuses a confirm for the number of files',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        const { files = 0, reservedFiles = 0 } = pending ? await driver.usage(pending.scope) : {}
        const max = command.quota.maxFiles
        if (max === null || files + reservedFiles <= max) return driver.confirm(command)
        const excess = { max, used: files + reservedFiles, reserved: reservedFiles, requested: 0 }
        return { outcome: 'maxFiles', ...excess }
      },
    })),
    rejectedBy: ['quota: never refuses a confirm for the number of files'],
  },
  {
    defect: 'refuses every confirm of a scope over its quota',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        const { bytes = 0, reservedBytes = 0 } = pending ? await driver.usage(pending.scope) : {}
        const used = bytes + reservedBytes
        const max = command.quota.maxBytes
        if (max === null || used <= max) return driver.confirm(command)
        const excess = { max, used, reserved: reservedBytes, requested: 0 }
        return { outcome: 'maxBytes', ...excess }
      },
    })),
    rejectedBy: ['quota: allows a confirm within its reservation'],
  },
  {
    defect: 'checks the growth of a replacement against its own reservation only',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        const active = await driver.findActive(command)
        const max = command.quota.maxBytes
        if (!pending || !active || max === null || max >= active.size!) return driver.confirm(command)
        const { bytes, reservedBytes } = await driver.usage(pending.scope)
        const used = bytes + reservedBytes
        const excess = { max, used, reserved: reservedBytes, requested: command.size }
        return { outcome: 'maxBytes', ...excess }
      },
    })),
    rejectedBy: ['quota: allows the confirm of a replacement that is not larger than the object'],
  },
  {
    defect: 'ignores the quota of a reserve that takes over a key',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        const isTakenOver = pending !== null && pending.scope !== command.scope
        return driver.reserve(isTakenOver ? { ...command, quota: NO_QUOTA } : command)
      },
    })),
    rejectedBy: ['quota: counts a key taken over from another scope as a new file'],
  },
  {
    defect: 'ignores the quota of the confirm of a replacement',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const active = await driver.findActive(command)
        return driver.confirm(active ? { ...command, quota: NO_QUOTA } : command)
      },
    })),
    rejectedBy: ['quota: checks the growth of a replacement beyond its reservation'],
  },
  {
    defect: 'refuses a quota without what unfinished uploads hold',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        return isOverQuota(result) ? { ...result, reserved: 0 } : result
      },
      async confirm(command) {
        const result = await driver.confirm(command)
        return isOverQuota(result) ? { ...result, reserved: 0 } : result
      },
    })),
    rejectedBy: ['quota: checks the sum of stored and reserved bytes', SCRIPTS.aboutQuotas],
  },
]
