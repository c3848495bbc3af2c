import { refuseDotSegments } from '../../core/dot-segments.js'
import type { ListedBytes } from '../../core/object-storage.js'
import { suggestion, unknownName } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import type { AdoptInput } from '../../core/store/contract.js'
import type { AdoptCommand } from '../../core/store/driver.js'
import { sameMetadata } from '../../core/store/lifecycle/metadata.js'
import type { StorageObject } from '../../core/store/records.js'
import { optional, shown } from '../../core/store/validation/checks.js'
import { checkMediaType } from '../../core/http/media-type.js'

/** Bytes in the bucket, as the listing describes them. */
export interface ImportedItem extends ListedBytes {
  readonly bucket: string
}

/** How bytes are recorded: the fields of the new object. `''` as `route`, `filename` or `contentType` counts as left out. */
export interface ImportSelection extends Pick<
  AdoptInput,
  'scope' | 'route' | 'filename' | 'contentType' | 'metadata'
> {
  /** 1 to 1024 bytes of UTF-8. Default: the key of the bytes. */
  readonly key?: string | null | undefined
  /** Since when the object exists. Lists sort it by it. Default: `lastModified` of the bytes. */
  readonly createdAt?: Date | null | undefined
}

/** Decides how bytes are recorded. `null` skips them. */
export type SelectImport = (item: ImportedItem) => ImportSelection | null | Promise<ImportSelection | null>

const checks = new OptionChecks('importObjects')

const FIELDS = Object.keys({
  ...{ scope: true, key: true, createdAt: true, route: true },
  ...{ filename: true, contentType: true, metadata: true },
} satisfies Record<keyof ImportSelection, true>) as readonly (keyof ImportSelection)[]

const NAMES: ReadonlySet<string> = new Set(FIELDS)

/** Calls `select`. Rejects with a TypeError for a result of another shape. */
export async function selectionOf(select: SelectImport, item: ImportedItem): Promise<ImportSelection | null> {
  // A copy, because `select` may change the date that it gets.
  const selection: unknown = await select({ ...item, lastModified: new Date(item.lastModified) })
  if (selection === null) return null
  if (typeof selection !== 'object' || Array.isArray(selection)) {
    throw checks.error(
      `select must return an object with a scope, or null to skip the item (got ${shown(selection)}).`,
    )
  }
  const unknown = unknownName(selection, NAMES)
  if (unknown !== null) {
    throw checks.error(`select returned the unknown field ${shown(unknown)}. ${suggestion(unknown, FIELDS)}`)
  }
  const { route, filename, contentType, ...others } = selection as ImportSelection
  return { ...others, route: filled(route), filename: filled(filename), contentType: filled(contentType) }
}

/** Tables of applications often have empty texts where nothing is known. */
function filled(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text
}

/** Returns how an item is recorded. @throws StorageError `VALIDATION_ERROR` for what the store would accept, but no browser. */
export function adoptInputOf(item: ImportedItem, selection: ImportSelection): AdoptInput {
  const { bucket, key: storageKey, size, eTag, lastModified } = item
  refuseDotSegments(storageKey)
  const { key, createdAt, contentType } = selection
  return {
    ...selection,
    contentType: optional(contentType, (type) => checkMediaType(type)),
    ...{ bucket, key: key ?? storageKey, storageKey, size, eTag, createdAt: createdAt ?? lastModified },
  }
}

/** Returns whether an object has another value than `select` returned. What it left out doesn't count. */
export function differs(object: StorageObject, command: AdoptCommand, selection: ImportSelection): boolean {
  const selected = FIELDS.filter((field) => (selection[field] ?? null) !== null)
  return selected.some((field) => {
    if (field === 'createdAt') return object.createdAt.getTime() !== command.createdAt.getTime()
    if (field === 'metadata') return !sameMetadata(object.metadata, command.metadata)
    return object[field] !== command[field]
  })
}
