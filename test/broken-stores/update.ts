import { SCRIPTS, gap, invalid, overDriver, overStore, type Mutant } from './mutant.js'

/** Mutants of `update`. */
export const updateMutants: readonly Mutant[] = [
  {
    defect: 'keeps updatedAt in an update',
    createStore: overDriver((driver) => ({
      async update(command) {
        const active = await driver.findActive(command)
        return driver.update({ ...command, now: active?.updatedAt ?? command.now })
      },
    })),
    rejectedBy: [
      'update: sets the fields that it is given and updatedAt, and keeps everything else',
      'update: compares metadata by all names and values',
    ],
  },
  {
    defect: 'takes an update that sets only the eTag for one without a difference',
    createStore: overDriver((driver) => ({
      async update(command) {
        const isOnlyETag = Object.keys(command.changes).join() === 'eTag'
        if (!isOnlyETag) return driver.update(command)
        const row = await driver.findActive(command)
        return { row, scopes: row ? [row.scope] : [] }
      },
    })),
    rejectedBy: ['update: sets the fields that it is given and updatedAt, and keeps everything else'],
  },
  {
    defect: 'keeps a field that an update clears',
    createStore: overDriver((driver) => ({
      update(command) {
        const set = Object.entries(command.changes).filter(([, value]) => value !== null)
        return driver.update({ ...command, changes: Object.fromEntries(set) })
      },
    })),
    rejectedBy: [
      'update: clears a field with null, and keeps one that is undefined',
      'update: compares metadata by all names and values',
    ],
  },
  {
    defect: 'clears fields that an update leaves undefined',
    createStore: overStore((store) => ({
      update: async (input) => store.update({ ...input, contentType: input.contentType ?? null }),
    })),
    rejectedBy: [
      'update: sets the fields that it is given and updatedAt, and keeps everything else',
      'update: clears a field with null, and keeps one that is undefined',
      'update: refuses to set nothing',
    ],
  },
  {
    defect: 'merges metadata in an update',
    createStore: overDriver((driver) => ({
      async update(command) {
        const { metadata } = command.changes
        const before = (await driver.findActive(command))?.metadata
        if (!metadata || !before) return driver.update(command)
        return driver.update({
          ...command,
          changes: { ...command.changes, metadata: { ...before, ...metadata } },
        })
      },
    })),
    rejectedBy: [
      'update: sets the fields that it is given and updatedAt, and keeps everything else',
      'update: replaces metadata as a whole',
      'update: compares metadata by all names and values',
      'update: stores any text and any name of metadata',
    ],
  },
  {
    defect: 'counts an update without a difference as a change',
    createStore: overDriver((driver) => ({
      async update(command) {
        const result = await driver.update(command)
        if (!result.row || result.row.updatedAt.getTime() === command.now.getTime()) return result
        await driver.update({ ...command, changes: { filename: `${result.row.filename} ` } })
        const { filename } = result.row
        return driver.update({ ...command, changes: { filename } })
      },
    })),
    rejectedBy: [
      'update: changes nothing, not even updatedAt, if no field differs',
      'update: returns the row of the first call to a repeat after a lost response',
    ],
  },
  {
    defect: 'compares only the names of metadata',
    createStore: overDriver((driver) => ({
      async update(command) {
        const active = await driver.findActive(command)
        const { metadata } = command.changes
        const names = (value: object | null | undefined) => JSON.stringify(Object.keys(value ?? {}).sort())
        if (!active || metadata === undefined || command.attemptId !== null) return driver.update(command)
        const isSame = names(metadata) === names(active.metadata) && Object.keys(command.changes).length === 1
        return isSame ? { row: active, scopes: [active.scope] } : driver.update(command)
      },
    })),
    rejectedBy: [
      'update: compares metadata by all names and values',
      'events of update: have the rows before and after',
    ],
  },
  {
    defect: 'updates history',
    createStore: overDriver((driver) => ({
      async update(command) {
        const result = await driver.update(command)
        if (result.row !== null || command.scope !== null || command.attemptId !== null) return result
        const row = await driver.find(command)
        return { row: row && { ...row, ...command.changes }, scopes: [] }
      },
    })),
    rejectedBy: ['update: returns null where nothing is active'],
  },
  {
    defect: 'ignores the scope of an update',
    createStore: overDriver((driver) => ({
      update: (command) => driver.update({ ...command, scope: null }),
    })),
    rejectedBy: [
      'update: changes nothing of another scope',
      'events of update: are recorded only if a field changed',
    ],
  },
  {
    defect: 'takes the id of an object for its attempt in an update',
    createStore: overDriver((driver) => ({
      async update(command) {
        const active = await driver.findActive(command)
        const isNamed = active !== null && active.id === command.attemptId
        return driver.update(isNamed ? { ...command, attemptId: active.attemptId } : command)
      },
    })),
    rejectedBy: ['update: changes only the attempt that it names, which is not the id of the object'],
  },
  {
    defect: 'ends a pending replacement in an update',
    createStore: overDriver((driver) => ({
      async update(command) {
        const result = await driver.update(command)
        if (result.row) await driver.release({ ...command, id: null, scope: null, uploadId: null })
        return result
      },
    })),
    rejectedBy: [
      'update: leaves bytes, usage and a pending replacement as they are',
      'update: is undone by a replacement, which brings its own fields',
    ],
  },
  {
    defect: 'applies an update to the replacement too',
    createStore: overDriver((driver) => {
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
          const { row } = await driver.update({ ...command, attemptId: null, changes: kept })
          return { ...result, row: row! }
        },
      }
    }),
    rejectedBy: ['update: is undone by a replacement, which brings its own fields'],
  },
  {
    defect: 'updates the same key in another bucket',
    createStore: overDriver((driver) => ({
      async update(command) {
        const result = await driver.update(command)
        if (result.row) await driver.update({ ...command, bucket: 'another bucket', attemptId: null })
        return result
      },
    })),
    rejectedBy: ['update: leaves the objects of other keys as they are'],
  },
  {
    defect: 'forgets updates when it removes an object',
    createStore: overDriver((driver) => {
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
    rejectedBy: ['update: stays in the history of a removed object'],
  },
  {
    defect: 'trims the text of an update',
    createStore: overDriver((driver) => ({
      update(command) {
        const { filename } = command.changes
        if (!filename?.trim()) return driver.update(command)
        return driver.update({ ...command, changes: { ...command.changes, filename: filename.trim() } })
      },
    })),
    rejectedBy: ['update: stores any text and any name of metadata'],
  },
  {
    defect: 'drops metadata whose names start with a dollar in an update',
    createStore: overDriver((driver) => ({
      update(command) {
        const { metadata } = command.changes
        if (!metadata) return driver.update(command)
        const kept = Object.entries(metadata).filter(([name]) => !name.startsWith('$$'))
        return driver.update({
          ...command,
          changes: { ...command.changes, metadata: Object.fromEntries(kept) },
        })
      },
    })),
    rejectedBy: ['update: stores any text and any name of metadata'],
  },
  {
    defect: 'cuts off long filenames in an update',
    createStore: overDriver((driver) => ({
      update(command) {
        const { filename } = command.changes
        if (!filename || filename.length <= 1024) return driver.update(command)
        return driver.update({
          ...command,
          changes: { ...command.changes, filename: filename.slice(0, 1024) },
        })
      },
    })),
    rejectedBy: ['update: stores fields of the greatest length'],
  },
  {
    defect: 'accepts an update that sets nothing',
    createStore: overStore((store) => ({
      async update(input) {
        const isEmpty =
          typeof input === 'object' &&
          input !== null &&
          [input.filename, input.contentType, input.metadata].every((value) => value === undefined)
        return isEmpty ? store.findActive(input) : store.update(input)
      },
    })),
    rejectedBy: ['update: refuses to set nothing'],
  },
  {
    defect: 'updates the object that took the place of the checked one',
    createStore: overDriver((driver) => ({
      async update(command) {
        const active = await driver.findActive(command)
        if (command.attemptId !== null && active?.attemptId !== command.attemptId)
          return driver.update(command)
        await gap()
        return driver.update({ ...command, attemptId: null })
      },
    })),
    rejectedBy: [SCRIPTS.overOneObject],
  },
  {
    defect: 'names no field of an update that sets nothing',
    createStore: overStore((store) => ({
      update: async (input) =>
        store.update(input).catch((error: Error & { params?: { field?: string } }) => {
          throw error.params?.field === 'input' && typeof input === 'object' && input
            ? invalid('filename')
            : error
        }),
    })),
    rejectedBy: ['update: refuses to set nothing'],
  },
]
