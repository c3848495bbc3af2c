import { NO_QUOTA, gap, driverInput, driverResult, driverCall, type Mutants } from './mutant.js'

/** Mutants of the quota of a transfer. */
export const transferQuotaMutants: Mutants = {
  'ignores the quota of bytes in a transfer': [
    driverInput('transfer', (command) => ({ ...command, quota: { ...command.quota, maxBytes: null } })),
    'quota of a transfer: limits the bytes of the new owner, reservations included',
    'quota of a transfer: limits the files of the new owner, after the bytes',
  ],
  'ignores the quota of files in a transfer': [
    driverInput('transfer', (command) => ({ ...command, quota: { ...command.quota, maxFiles: null } })),
    'quota of a transfer: limits the files of the new owner, after the bytes',
    'quota of a transfer: changes nothing if it refuses',
    'quota of a transfer: refuses a sum that is no longer a safe integer, after the quota',
    'events of transfer: are recorded only if the scope changed',
  ],
  'ends the replacement before it refuses a transfer': [
    driverResult('transfer', async (result, command, driver) => {
      if (result.outcome !== 'transferred')
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return result
    }),
    'quota of a transfer: changes nothing if it refuses',
  ],
  'counts the replacement in the quota of a transfer': [
    driverInput('transfer', async (command, driver) => {
      const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
      const { maxBytes } = command.quota
      if (!pending || maxBytes === null) return command
      const quota = { ...command.quota, maxBytes: Math.max(0, maxBytes - pending.declaredSize!) }
      return { ...command, quota }
    }),
    'quota of a transfer: does not count a pending replacement, which ends',
  ],
  'checks the quota of a transfer against the old owner too': [
    driverCall('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      const { bytes, reservedBytes } = await driver.usage(command.from)
      const { maxBytes } = command.quota
      const isOver =
        active?.scope === command.from && command.to !== command.from && maxBytes !== null && bytes > maxBytes
      if (!isOver) return driver.transfer(command)
      const excess = { max: maxBytes, used: bytes, reserved: reservedBytes, requested: 1 }
      return { outcome: 'maxBytes', ...excess }
    }),
    'quota of a transfer: limits the files of the new owner, after the bytes',
    'quota of a transfer: does not count what the old owner holds',
  ],
  'refuses an empty object because the quota of bytes is exceeded already': [
    driverCall('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      const { bytes, reservedBytes } = await driver.usage(command.to)
      const { maxBytes } = command.quota
      if (active?.size !== 0 || maxBytes === null || bytes <= maxBytes) return driver.transfer(command)
      const excess = { max: maxBytes, used: bytes, reserved: reservedBytes, requested: 0 }
      return { outcome: 'maxBytes', ...excess }
    }),
    'quota of a transfer: lets an empty object into a scope over its quota of bytes',
  ],
  'checks the sum before the quota of a transfer': [
    driverCall('transfer', async (command, driver) => {
      const plain = await driver.findActive({ ...command, scope: null })
      const { bytes, reservedBytes } = await driver.usage(command.to)
      const isTooLarge =
        plain !== null &&
        plain.scope !== command.to &&
        bytes + reservedBytes + plain.size! > Number.MAX_SAFE_INTEGER
      return isTooLarge ? { outcome: 'sum' } : driver.transfer(command)
    }),
    'quota of a transfer: refuses a sum that is no longer a safe integer, after the quota',
  ],
  'checks the quota before the write of a transfer, not as part of it': [
    driverInput('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      const { bytes, files, reservedBytes, reservedFiles } = await driver.usage(command.to)
      const { maxBytes, maxFiles } = command.quota
      const fits =
        (maxBytes === null || bytes + reservedBytes + (active?.size ?? 0) <= maxBytes) &&
        (maxFiles === null || files + reservedFiles + 1 <= maxFiles)
      await gap()
      return fits ? { ...command, quota: NO_QUOTA } : command
    }),
    'quota of a transfer: is filled exactly by transfers at the same time',
  ],
}
