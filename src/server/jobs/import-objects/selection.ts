import { shown } from '../../../core/store/validation/checks.js'
import type { ImportedItem, ImportSelection, SelectImport } from './import-options.js'

const FIELDS: readonly string[] = [
  'scope',
  'key',
  'route',
  'filename',
  'contentType',
  'metadata',
] satisfies (keyof ImportSelection)[]

/** Calls `select`. Its result has the right shape; the store checks the values. @throws TypeError for any other result. */
export async function selectionOf(select: SelectImport, item: ImportedItem): Promise<ImportSelection | null> {
  // A copy, because `select` may change the date that it gets.
  const selection: unknown = await select({ ...item, lastModified: new Date(item.lastModified) })
  if (selection === null) return null
  if (typeof selection !== 'object' || Array.isArray(selection)) {
    throw new TypeError(
      `importObjects: select must return an object with a scope, or null to skip the item (got ${shown(selection)}).`,
    )
  }
  const unknown = Object.keys(selection).find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(
      `importObjects: select returned the unknown field ${shown(unknown)}. Allowed are ${FIELDS.join(', ')}.`,
    )
  }
  return selection as ImportSelection
}
