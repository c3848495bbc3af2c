import type { ObjectMetadata, UpdateCommand } from '../../src/adapter.js'
import {
  driverCall,
  driverInput,
  driverResult,
  gap,
  overRecording,
  storeCall,
  storeInput,
  referenceOf,
} from './mutant.js'
import { updatedRow, type Mutants } from './mutant.js'

/** Changes the names that an update sets or removes. */
const overNames = (
  broken: (
    names: readonly (readonly [string, string | null])[],
    before: Readonly<Record<string, string>>,
  ) => readonly (readonly [string, string | null])[],
) =>
  driverInput('update', async (command, driver): Promise<UpdateCommand> => {
    if (command.setMetadata === null) return command
    const before = (await driver.findActive(command))?.metadata ?? {}
    const names = broken(Object.entries(command.setMetadata), before)
    return { ...command, setMetadata: names.length > 0 ? Object.fromEntries(names) : null }
  })

/** Returns the unchanged metadata where the limit refuses it. */
const withoutLimit = (outcome: 'metadata-entries' | 'metadata-bytes') =>
  driverCall('update', async (command, driver) => {
    const result = await driver.update(command)
    if (result.outcome !== outcome) return result
    const row = await driver.findActive(command)
    return { outcome: 'updated', row: row && { ...row, ...command.changes } }
  })

/** Mutants of `setMetadata`. */
export const setMetadataMutants: Mutants = {
  'ignores the names that an update removes, if it sets others': [
    overNames((names) => {
      const set = names.filter(([, value]) => value !== null)
      return set.length > 0 ? set : names
    }),
    'setMetadata of an update: sets and removes the names that it has, and keeps the others',
    'setMetadata of an update: loses no name of fifty writers at the same time',
  ],
  'leaves empty metadata where no name is left': [
    driverResult('update', async (result, command, driver) => {
      const row = updatedRow(result)
      if (command.setMetadata === null || row?.metadata !== null) return result
      if (Object.values(command.setMetadata).some((value) => value !== null)) return result
      if (row.updatedAt.getTime() !== command.now.getTime() || row.confirmedAt! < command.now) return result
      return driver.update({ ...command, setMetadata: null, changes: { metadata: {} } })
    }),
    'setMetadata of an update: leaves null where no name is left',
  ],
  'counts names without a difference as a change': [
    driverResult('update', async (result, command, driver) => {
      const row = updatedRow(result)
      if (!row || command.setMetadata === null || row.updatedAt >= command.now) return result
      await driver.update({ ...command, setMetadata: null, changes: { filename: `${row.filename} ` } })
      return driver.update({ ...command, setMetadata: null, changes: { filename: row.filename } })
    }),
    'setMetadata of an update: changes nothing, not even updatedAt, if no name differs',
  ],
  'clears empty metadata if no names are set': [
    storeInput('update', async (input, store) => {
      const { setMetadata } = input
      if (!setMetadata || Object.keys(setMetadata).length > 0 || input.metadata !== undefined) return input
      const metadata = (await store.findActive(referenceOf(input)))?.metadata
      return metadata && Object.keys(metadata).length === 0
        ? { ...input, setMetadata: { none: null } }
        : input
    }),
    'setMetadata of an update: changes nothing without names, also of metadata that is empty',
  ],
  'ignores the other fields of an update with setMetadata': [
    driverInput('update', (command) => (command.setMetadata ? { ...command, changes: {} } : command)),
    'setMetadata of an update: sets other fields in the same step',
  ],
  'does not refuse a name too many': [
    withoutLimit('metadata-entries'),
    'setMetadata of an update: leaves at most 64 names',
    'setMetadata of an update: changes no other field if it is refused',
  ],
  'does not refuse a byte of metadata too many': [
    withoutLimit('metadata-bytes'),
    'setMetadata of an update: leaves at most 16 KiB of UTF-8',
  ],
  'counts names that an update removes': [
    driverCall('update', async (command, driver) => {
      const before = (await driver.findActive(command))?.metadata ?? {}
      const names = new Set([...Object.keys(before), ...Object.keys(command.setMetadata ?? {})])
      if (command.setMetadata && names.size > 64) return { outcome: 'metadata-entries', got: names.size }
      return driver.update(command)
    }),
    'setMetadata of an update: has room for what replaces other names or values',
  ],
  'counts a replaced value too': [
    driverCall('update', async (command, driver) => {
      const before = (await driver.findActive(command))?.metadata ?? {}
      const set = Object.entries(command.setMetadata ?? {}).filter(([, value]) => value !== null)
      const kept = Object.entries(before).filter(([name]) => command.setMetadata?.[name] !== null)
      const bytes = new TextEncoder().encode([...kept, ...set].flat().join('')).length
      if (command.setMetadata && bytes > 16 * 1024) return { outcome: 'metadata-bytes', got: bytes }
      return driver.update(command)
    }),
    'setMetadata of an update: has room for what replaces other names or values',
  ],
  'sets the other fields of an update whose metadata it refuses': [
    driverResult('update', async (result, command, driver) => {
      const isExcess = result.outcome !== 'updated' && Object.keys(command.changes).length > 0
      if (isExcess) await driver.update({ ...command, setMetadata: null })
      return result
    }),
    'setMetadata of an update: changes no other field if it is refused',
  ],
  'prefers metadata to setMetadata': [
    storeCall('update', (input, store) =>
      store.update(input.metadata === undefined ? input : { ...input, setMetadata: undefined }),
    ),
    'setMetadata of an update: is refused together with metadata',
  ],
  'takes a name with a dot for a path': [
    overNames((names) => names.map(([name, value]) => [name.replace(/^metadata\./, ''), value] as const)),
    'setMetadata of an update: stores any text under any name, and removes it',
  ],
  'ignores the case of names that it removes': [
    overNames((names, before) =>
      names.flatMap(([name, value]): readonly (readonly [string, string | null])[] => {
        if (value !== null) return [[name, value]]
        const same = Object.keys(before).filter((each) => each.toLowerCase() === name.toLowerCase())
        return [...same, name].map((each) => [each, null])
      }),
    ),
    'setMetadata of an update: tells similar names apart',
  ],
  'ignores the attempt of an update with setMetadata': [
    driverInput('update', (command) => (command.setMetadata ? { ...command, attemptId: null } : command)),
    'setMetadata of an update: changes only the scope and the attempt that it names',
  ],
  'ignores the scope of an update with setMetadata': [
    driverInput('update', (command) => (command.setMetadata ? { ...command, scope: null } : command)),
    'setMetadata of an update: changes only the scope and the attempt that it names',
  ],
  'merges names into the metadata that it has read before': [
    driverInput('update', async (command, driver): Promise<UpdateCommand> => {
      const active = await driver.findActive(command)
      if (!active || !command.setMetadata) return command
      await gap()
      const merged = Object.entries({ ...active.metadata, ...command.setMetadata })
      const metadata = Object.fromEntries(merged.filter(([, value]) => value !== null)) as ObjectMetadata
      return { ...command, setMetadata: null, changes: { ...command.changes, metadata } }
    }),
    'setMetadata of an update: loses no name of fifty writers at the same time',
  ],
  'records the row of the first update as that before each later one': [
    (context) => {
      const first = new Map<string, object>()
      return overRecording((change, now) => {
        const { type, object, previous } = change
        const isOfNames = type === 'updated' && object.filename === previous.filename
        if (!isOfNames) return [[change, now]]
        if (!first.has(object.attemptId)) first.set(object.attemptId, previous)
        return [[{ ...change, previous: first.get(object.attemptId) as typeof object }, now]]
      })(context)
    },
    'events of setMetadata: have the rows before and after, also of writers at the same time',
  ],
}
