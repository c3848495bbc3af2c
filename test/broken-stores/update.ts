import {
  SCRIPTS,
  gap,
  invalid,
  overDriver,
  driverInput,
  driverCall,
  storeInput,
  driverResult,
  storeCall,
  updatedRow,
  type Mutants,
  referenceOf,
} from './mutant.js'

/** Mutants of `update`. */
export const updateMutants: Mutants = {
  'keeps updatedAt in an update': [
    driverInput('update', async (command, driver) => {
      const active = await driver.findActive(command)
      return { ...command, now: active?.updatedAt ?? command.now }
    }),
    'update: sets the fields that it is given and updatedAt, and keeps everything else',
    'update: compares metadata by all names and values',
  ],
  'takes an update that sets only the eTag for one without a difference': [
    driverCall('update', async (command, driver) => {
      const isOnlyETag = Object.keys(command.changes).join() === 'eTag'
      if (!isOnlyETag) return driver.update(command)
      const row = await driver.findActive(command)
      return { outcome: 'updated', row }
    }),
    'update: sets the fields that it is given and updatedAt, and keeps everything else',
  ],
  'keeps a field that an update clears': [
    driverInput('update', (command) => {
      const set = Object.entries(command.changes).filter(([, value]) => value !== null)
      return { ...command, changes: Object.fromEntries(set) }
    }),
    'update: clears a field with null, and keeps one that is undefined',
    'update: compares metadata by all names and values',
  ],
  'clears fields that an update leaves undefined': [
    storeInput('update', (input) => ({ ...input, contentType: input.contentType ?? null })),
    'update: sets the fields that it is given and updatedAt, and keeps everything else',
    'update: clears a field with null, and keeps one that is undefined',
    'update: refuses to set nothing',
  ],
  'merges metadata in an update': [
    driverInput('update', async (command, driver) => {
      const { metadata } = command.changes
      const before = (await driver.findActive(command))?.metadata
      if (!metadata || !before) return command
      return {
        ...command,
        changes: { ...command.changes, metadata: { ...before, ...metadata } },
      }
    }),
    'update: sets the fields that it is given and updatedAt, and keeps everything else',
    'update: replaces metadata as a whole',
    'update: compares metadata by all names and values',
    'update: stores any text and any name of metadata',
  ],
  'counts an update without a difference as a change': [
    driverResult('update', async (result, command, driver) => {
      const row = updatedRow(result)
      if (!row || row.updatedAt.getTime() === command.now.getTime()) return result
      await driver.update({ ...command, changes: { filename: `${row.filename} ` } })
      const { filename } = row
      return driver.update({ ...command, changes: { filename } })
    }),
    'update: changes nothing, not even updatedAt, if no field differs',
    'update: returns the row of the first call to a repeat after a lost response',
  ],
  'compares only the names of metadata': [
    driverCall('update', async (command, driver) => {
      const active = await driver.findActive(command)
      const { metadata } = command.changes
      const names = (value: object | null | undefined) => JSON.stringify(Object.keys(value ?? {}).sort())
      if (!active || metadata === undefined || command.attemptId !== null) return driver.update(command)
      const isSame = names(metadata) === names(active.metadata) && Object.keys(command.changes).length === 1
      return isSame ? { outcome: 'updated', row: active } : driver.update(command)
    }),
    'update: compares metadata by all names and values',
    'events of update: have the rows before and after',
  ],
  'updates history': [
    driverResult('update', async (result, command, driver) => {
      if (updatedRow(result) !== null || command.scope !== null || command.attemptId !== null) return result
      const row = await driver.find(command)
      return { outcome: 'updated', row: row && { ...row, ...command.changes } }
    }),
    'update: returns null where nothing is active',
  ],
  'ignores the scope of an update': [
    driverInput('update', (command) => ({ ...command, scope: null })),
    'update: changes nothing of another scope',
    'events of update: are recorded only if a field changed',
  ],
  'takes the id of an object for its attempt in an update': [
    driverInput('update', async (command, driver) => {
      const active = await driver.findActive(command)
      const isNamed = active !== null && active.id === command.attemptId
      return isNamed ? { ...command, attemptId: active.attemptId } : command
    }),
    'update: changes only the attempt that it names, which is not the id of the object',
  ],
  'ends a pending replacement in an update': [
    driverResult('update', async (result, command, driver) => {
      if (updatedRow(result)) await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return result
    }),
    'update: leaves bytes, usage and a pending replacement as they are',
    'update: is undone by a replacement, which brings its own fields',
  ],
  'applies an update to the replacement too': [
    overDriver((driver) => {
      const changes = new Map<string, object>()
      return {
        async update(command) {
          if (await driver.findPending({ ...command, id: null, uploadId: null }))
            changes.set(command.key, command.changes)
          return driver.update(command)
        },
        async confirm(command) {
          const result = await driver.confirm(command)
          const kept = changes.get(command.key)
          if (result.outcome !== 'confirmed' || !kept) return result
          const update = { ...command, attemptId: null, setMetadata: null, changes: kept }
          return { ...result, row: updatedRow(await driver.update(update))! }
        },
      }
    }),
    'update: is undone by a replacement, which brings its own fields',
  ],
  'updates the same key in another bucket': [
    driverResult('update', async (result, command, driver) => {
      if (updatedRow(result)) await driver.update({ ...command, bucket: 'another bucket', attemptId: null })
      return result
    }),
    'update: leaves the objects of other keys as they are',
  ],
  'forgets updates when it removes an object': [
    overDriver((driver) => {
      const before = new Map<string, string | null>()
      return {
        async update(command) {
          const active = await driver.findActive(command)
          if (active) before.set(active.attemptId, active.filename)
          return driver.update(command)
        },
        async remove(command) {
          const result = await driver.remove(command)
          if (!result.row || !before.has(result.row.attemptId)) return result
          return { ...result, row: { ...result.row, filename: before.get(result.row.attemptId)! } }
        },
      }
    }),
    'update: stays in the history of a removed object',
  ],
  'trims the text of an update': [
    driverInput('update', (command) => {
      const { filename } = command.changes
      if (!filename?.trim()) return command
      return { ...command, changes: { ...command.changes, filename: filename.trim() } }
    }),
    'update: stores any text and any name of metadata',
  ],
  'drops metadata whose names start with a dollar in an update': [
    driverInput('update', (command) => {
      const { metadata } = command.changes
      if (!metadata) return command
      const kept = Object.entries(metadata).filter(([name]) => !name.startsWith('$$'))
      return {
        ...command,
        changes: { ...command.changes, metadata: Object.fromEntries(kept) },
      }
    }),
    'update: stores any text and any name of metadata',
  ],
  'cuts off long filenames in an update': [
    driverInput('update', (command) => {
      const { filename } = command.changes
      if (!filename || filename.length <= 1024) return command
      return {
        ...command,
        changes: { ...command.changes, filename: filename.slice(0, 1024) },
      }
    }),
    'update: stores fields of the greatest length',
  ],
  'accepts an update that sets nothing': [
    storeCall('update', async (input, store) => {
      const isEmpty =
        typeof input === 'object' &&
        input !== null &&
        [input.filename, input.contentType, input.metadata, input.setMetadata].every(
          (value) => value === undefined,
        )
      return isEmpty ? store.findActive(referenceOf(input)) : store.update(input)
    }),
    'update: refuses to set nothing',
  ],
  'updates the object that took the place of the checked one': [
    driverInput('update', async (command, driver) => {
      const active = await driver.findActive(command)
      if (command.attemptId !== null && active?.attemptId !== command.attemptId) return command
      await gap()
      return { ...command, attemptId: null }
    }),
    SCRIPTS.overOneObject,
  ],
  'names no field of an update that sets nothing': [
    storeCall('update', async (input, store) =>
      store.update(input).catch((error: Error & { params?: { field?: string } }) => {
        throw error.params?.field === 'input' && typeof input === 'object' && input
          ? invalid('filename')
          : error
      }),
    ),
    'update: refuses to set nothing',
  ],
}
