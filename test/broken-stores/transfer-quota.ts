import { NO_QUOTA, gap, overDriver, type Mutant } from './mutant.js'

/** Mutants of the quota of a transfer. */
export const transferQuotaMutants: readonly Mutant[] = [
  {
    defect: 'ignores the quota of bytes in a transfer',
    createStore: overDriver((driver) => ({
      transfer: (command) => driver.transfer({ ...command, quota: { ...command.quota, maxBytes: null } }),
    })),
    rejectedBy: [
      'quota of a transfer: limits the bytes of the new owner, reservations included',
      'quota of a transfer: limits the files of the new owner, after the bytes',
    ],
  },
  {
    defect: 'ignores the quota of files in a transfer',
    createStore: overDriver((driver) => ({
      transfer: (command) => driver.transfer({ ...command, quota: { ...command.quota, maxFiles: null } }),
    })),
    rejectedBy: [
      'quota of a transfer: limits the files of the new owner, after the bytes',
      'quota of a transfer: changes nothing if it refuses',
      'quota of a transfer: refuses a sum that is no longer a safe integer, after the quota',
      'events of transfer: are recorded only if the scope changed',
    ],
  },
  {
    defect: 'ends the replacement before it refuses a transfer',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const result = await driver.transfer(command)
        if (result.outcome !== 'transferred')
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        return result
      },
    })),
    rejectedBy: ['quota of a transfer: changes nothing if it refuses'],
  },
  {
    defect: 'counts the replacement in the quota of a transfer',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
        const { maxBytes } = command.quota
        if (!pending || maxBytes === null) return driver.transfer(command)
        const quota = { ...command.quota, maxBytes: Math.max(0, maxBytes - pending.declaredSize!) }
        return driver.transfer({ ...command, quota })
      },
    })),
    rejectedBy: ['quota of a transfer: does not count a pending replacement, which ends'],
  },
  {
    defect: 'checks the quota of a transfer against the old owner too',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        const { bytes, reservedBytes } = await driver.usage(command.from)
        const { maxBytes } = command.quota
        const isOver =
          active?.scope === command.from &&
          command.to !== command.from &&
          maxBytes !== null &&
          bytes > maxBytes
        if (!isOver) return driver.transfer(command)
        const excess = { max: maxBytes, used: bytes, reserved: reservedBytes, requested: 1 }
        return { outcome: 'maxBytes', ...excess }
      },
    })),
    rejectedBy: [
      'quota of a transfer: limits the files of the new owner, after the bytes',
      'quota of a transfer: does not count what the old owner holds',
    ],
  },
  {
    defect: 'refuses an empty object because the quota of bytes is exceeded already',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        const { bytes, reservedBytes } = await driver.usage(command.to)
        const { maxBytes } = command.quota
        if (active?.size !== 0 || maxBytes === null || bytes <= maxBytes) return driver.transfer(command)
        const excess = { max: maxBytes, used: bytes, reserved: reservedBytes, requested: 0 }
        return { outcome: 'maxBytes', ...excess }
      },
    })),
    rejectedBy: ['quota of a transfer: lets an empty object into a scope over its quota of bytes'],
  },
  {
    defect: 'checks the sum before the quota of a transfer',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const plain = await driver.findActive({ ...command, scope: null })
        const { bytes, reservedBytes } = await driver.usage(command.to)
        const isTooLarge =
          plain !== null &&
          plain.scope !== command.to &&
          bytes + reservedBytes + plain.size! > Number.MAX_SAFE_INTEGER
        return isTooLarge ? { outcome: 'sum' } : driver.transfer(command)
      },
    })),
    rejectedBy: ['quota of a transfer: refuses a sum that is no longer a safe integer, after the quota'],
  },
  {
    defect: 'checks the quota before the write of a transfer, not as part of it',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        const { bytes, files, reservedBytes, reservedFiles } = await driver.usage(command.to)
        const { maxBytes, maxFiles } = command.quota
        const fits =
          (maxBytes === null || bytes + reservedBytes + (active?.size ?? 0) <= maxBytes) &&
          (maxFiles === null || files + reservedFiles + 1 <= maxFiles)
        await gap()
        return driver.transfer(fits ? { ...command, quota: NO_QUOTA } : command)
      },
    })),
    rejectedBy: ['quota of a transfer: is filled exactly by transfers at the same time'],
  },
]
