import type { Leftover, StorageObject } from '../../src/core/store/records.js'
import type { MethodName } from './calls.js'
import * as types from './field-types.js'
import { INPUTS, type Field } from './inputs.js'
import { RECORD_NAMES } from './empty-row.js'

type CheckedField = Pick<Field<unknown, unknown>, 'isRequired' | 'refusesNull' | 'type'>

const REFERENCE: Record<string, CheckedField> = {
  bucket: { isRequired: true, type: types.name },
  key: { isRequired: true, type: types.objectKey },
}

function checkedFields(method: MethodName): Record<string, CheckedField> {
  const { atKey, ...fields } = INPUTS[method] as Record<string, CheckedField>
  return atKey ? { ...REFERENCE, ...fields } : fields
}

/** The calls that ignore fields of a record only beside these, because one of the others alone looks like a filter. */
const BOUNDS: { readonly [Method in MethodName]?: readonly string[] } = {
  purgeExpired: ['id', 'scope'],
  purgeDeleted: ['id'],
}

/** The calls that take a whole leftover. */
const OF_LEFTOVERS: readonly MethodName[] = ['deferLeftover', 'forgetLeftover']
const LEFTOVER_FIELDS = [
  'since',
  'writableUntil',
  'dueAt',
  'readableUntil',
] as const satisfies readonly (keyof Leftover)[]

/** Returns the fields of a call, and all that its input may have. */
export function fieldNamesOf(method: MethodName): {
  readonly own: readonly string[]
  readonly known: readonly string[]
} {
  const own = Object.keys(checkedFields(method))
  return { own, known: [...own, ...RECORD_NAMES, ...(OF_LEFTOVERS.includes(method) ? LEFTOVER_FIELDS : [])] }
}

/** Returns the names of the invalid fields of an input; `['input']` if it is not an object. */
export function badFields(method: MethodName, input: unknown, now: Date): string[] {
  const fields = Object.entries(checkedFields(method))
  const given = input === undefined && !hasRequiredFields(method) ? {} : input
  if (typeof given !== 'object' || given === null) return ['input']
  const values = given as Record<string, unknown>
  const { own, known } = fieldNamesOf(method)
  const isBounded = (BOUNDS[method] ?? []).every((name) => values[name] != null)
  const accepted = isBounded ? known : own
  const unknown = Object.keys(values).filter((name) => !accepted.includes(name) && values[name] != null)
  const isLeftOut = (name: string, { refusesNull }: CheckedField) =>
    (refusesNull === true && !(name in values)) ||
    (method === 'purgeDeleted' && name === 'before' && values['id'] != null && values[name] == null)
  const bad = fields
    .filter(([name, field]) => !isLeftOut(name, field) && !field.type.isValid(values[name], now))
    .flatMap(([name]) => errorFieldsOf(method, name, values[name]))
  return [...unknown, ...bad, ...missingFields(method, values)]
}

/** Returns the fields that an error for an invalid value of this field may name. */
export function errorFieldsOf(method: MethodName, field: string, value: unknown): readonly string[] {
  return checkedFields(method)[field]?.type.fieldsOf?.(value) ?? [field]
}

/** Returns what is missing although no field is required by itself. */
function missingFields(method: MethodName, values: Readonly<Record<string, unknown>>): string[] {
  if (method === 'update') {
    const { filename, contentType, metadata, setMetadata, eTag, temporarySeconds } = values
    if (metadata !== undefined && setMetadata != null) return ['setMetadata']
    const changes = [filename, contentType, metadata, setMetadata ?? undefined, eTag, temporarySeconds]
    return changes.every((value) => value === undefined) ? ['input'] : []
  }
  if (method === 'reserve') {
    return values['checkSeconds'] != null && values['storageKey'] == null ? ['storageKey'] : []
  }
  if (method === 'endTemporary') return strayIds(values)
  if (method !== 'claimEvents') return []
  const [hasBucket, hasKey] = [values['bucket'] != null, values['key'] != null]
  return hasBucket === hasKey ? [] : [hasKey ? 'bucket' : 'key']
}

/** Returns the ids to keep that none of the objects has. */
function strayIds({ objects, keep }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(objects) || !Array.isArray(keep)) return []
  const ids: readonly unknown[] = objects.flatMap((object: Partial<StorageObject> | null) => [
    object?.id,
    object?.attemptId,
  ])
  return keep.flatMap((id, index) => (ids.includes(id) ? [] : [`keep[${index}]`]))
}

/** Returns the invalid values of each field. */
export function badValuesOf(method: MethodName): [field: string, values: readonly unknown[]][] {
  return Object.entries(checkedFields(method))
    .filter(([, { type }]) => type.invalid.length > 0)
    .map(([name, { isRequired, refusesNull, type }]) => [
      name,
      isRequired || refusesNull ? [null, undefined, ...type.invalid] : type.invalid,
    ])
}

export function optionalFieldsOf(method: MethodName): string[] {
  return Object.entries(checkedFields(method)).flatMap(([name, { isRequired, refusesNull }]) =>
    isRequired || refusesNull ? [] : [name],
  )
}

export function hasRequiredFields(method: MethodName): boolean {
  return Object.values(checkedFields(method)).some(({ isRequired }) => isRequired)
}
