import type { JsonSchema } from '../../json.js'
import { namesOf, unknownName, type KnownNames } from '../../known-names.js'
import { ATTEMPT_ID } from '../attempt-id.js'
import type { MetadataChanges, ObjectMetadata, Quota, StorageObject } from '../records.js'
import {
  checkAttemptId,
  checkBoolean,
  checkDate,
  checkInteger,
  checkObject,
  checkOneOf,
  checkQuota,
  checkSize,
  checkText,
  invalid,
  shown,
  TEXT_LIMITS,
  unknownField,
  type QuotaLimits,
  type TextField,
} from '../validation/checks.js'
import {
  checkMetadata,
  checkMetadataChanges,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
} from '../validation/metadata.js'

/** What a field holds, for those who store it. Only reads have a `position`, and only calls for many rows or owners a `list`. */
export type FieldKind =
  'text' | 'list' | 'id' | 'number' | 'date' | 'boolean' | 'metadata' | 'quota' | 'position'

/** One field of an input: what callers pass (`Given`) and what drivers receive (`Read`). */
export interface Field<Given, Read, IsRequired extends boolean = boolean> {
  readonly kind: FieldKind
  readonly isRequired: IsRequired
  /** The value as JSON. */
  readonly schema: JsonSchema
  /** Reads the value that was given, `undefined` or `null` for none. @throws StorageError `VALIDATION_ERROR` */
  readonly read: (value: unknown, name: string, now: Date) => Read
  /** Only a type. */
  readonly given?: Given
}

type RequiredField<Given, Read = Given> = Field<Given, Read, true>
type OptionalField<Given, Read> = Field<Given, Read, false>

export type Fields = Readonly<Record<string, Field<unknown, unknown>>>

type GivenTo<One> = One extends Field<infer Given, unknown> ? Given : never

// Mapped over the keys of the list, so that editors show its comments.
export type InputOf<List extends Fields> = {
  readonly [Name in keyof List as List[Name]['isRequired'] extends true ? Name : never]: GivenTo<List[Name]>
} & {
  readonly [Name in keyof List as List[Name]['isRequired'] extends true ? never : Name]?:
    GivenTo<List[Name]> | null | undefined
}

/** What a driver receives: every field, checked, `null` or its default if it was left out. */
export type ReadOf<List extends Readonly<Record<string, Pick<Field<unknown, unknown>, 'read'>>>> = {
  readonly [Name in keyof List]: ReturnType<List[Name]['read']>
}

export type CommandOf<List extends Fields> = ReadOf<List> & { readonly now: Date }

/** Reads an input of this call. @throws StorageError `VALIDATION_ERROR` for an unknown field, or the first one that is invalid. */
export function readCommand<List extends Fields>(list: List, input: unknown, now: Date): CommandOf<List> {
  refuseUnknown(list, input)
  return Object.assign(readFields(list, input, now), { now })
}

/** Reads a query that does not depend on the time, so that no clock is read. */
export function readQuery<List extends Fields>(list: List, input: unknown): ReadOf<List> {
  refuseUnknown(list, input)
  return readFields(list, input, NO_TIME)
}

/** The time for fields that don't depend on it. */
export const NO_TIME = new Date(0)

/** Reads some fields of an input, whose other fields the caller checks. @throws StorageError `VALIDATION_ERROR` for the first one that is invalid. */
export function readFields<List extends Fields>(list: List, input: unknown, now: Date): ReadOf<List> {
  const given = checkObject('input', input)
  const values: Record<string, unknown> = {}
  for (const name in list) values[name] = list[name]!.read(given[name], name, now)
  return values as ReadOf<List>
}

/** The fields of a record. Every input may have them, so that callers can pass a whole row. */
const RECORD_NAMES = namesOf<StorageObject>({
  ...{ id: true, attemptId: true, scope: true, bucket: true, key: true, status: true, route: true },
  ...{ filename: true, contentType: true, size: true, declaredSize: true, eTag: true, metadata: true },
  ...{ storageKey: true, uploadId: true, expiresAt: true, createdAt: true, updatedAt: true },
  ...{ confirmedAt: true, deletedAt: true, temporaryUntil: true, arrivedAt: true },
})

/** The fields that a call has, and those that its input may have. */
export interface InputNames {
  readonly own: KnownNames
  readonly known: KnownNames
}

/** `others` are fields of a whole that callers may pass instead of a row. */
export function inputNames(own: KnownNames, others: KnownNames = new Set()): InputNames {
  return { own, known: new Set([...own, ...RECORD_NAMES, ...others]) }
}

/** Refuses fields that a call doesn't know: ignoring a misspelled filter would change or return too much. */
export function refuseUnknownNames({ own, known }: InputNames, input: unknown): void {
  const name = unknownName(checkObject('input', input), known)
  if (name !== null) throw unknownField(name, own)
}

const namesOfLists = new WeakMap<Fields, InputNames>()

/** Returns the names for a call with this list of fields. */
export function namesIn(list: Fields): InputNames {
  let names = namesOfLists.get(list)
  if (!names) namesOfLists.set(list, (names = inputNames(new Set(Object.keys(list)))))
  return names
}

/** {@link refuseUnknownNames} for a call with this list of fields. */
export function refuseUnknown(list: Fields, input: unknown): void {
  refuseUnknownNames(namesIn(list), input)
}

function required<Value>(
  kind: FieldKind,
  schema: JsonSchema,
  check: (name: string, value: unknown) => Value,
): RequiredField<Value> {
  return { kind, schema, isRequired: true, read: (value, name) => check(name, value) }
}

/** A field that may be left out: drivers then receive the default, or `null`. */
export function optional<Given, Read>(field: RequiredField<Given, Read>): OptionalField<Given, Read | null>
export function optional<Given, Read>(
  field: RequiredField<Given, Read>,
  byDefault: (now: Date) => Read,
): OptionalField<Given, Read>
export function optional<Given, Read>(
  { kind, schema, read }: RequiredField<Given, Read>,
  byDefault: (now: Date) => Read | null = () => null,
): OptionalField<Given, Read | null> {
  return {
    kind,
    schema,
    isRequired: false,
    read: (value, name, now) =>
      value === undefined || value === null ? byDefault(now) : read(value, name, now),
  }
}

/** A text within the limits of `limits`, which is usually the name of the field. */
export function text(limits: TextField): RequiredField<string> {
  const { max, unit } = TEXT_LIMITS[limits]
  // JSON Schema counts characters. A string never has more characters than bytes.
  const more = unit === 'characters' ? {} : { description: `At most ${max} ${unit}.` }
  const schema = { type: 'string', minLength: 1, maxLength: max, ...more }
  return required('text', schema, (name, value) => checkText(limits, value, name))
}

/** At most `max` values, and at least `min`. Errors name the item. */
export function listOf<Given, Read>(
  item: RequiredField<Given, Read>,
  max: number,
  min = 0,
): RequiredField<readonly Given[], readonly Read[]> {
  const schema = { type: 'array', ...(min > 0 && { minItems: min }), maxItems: max, items: item.schema }
  const read = (value: unknown, name: string, now: Date) => {
    if (!Array.isArray(value)) throw invalid(name, `must be an array (got ${shown(value)}).`)
    if (value.length > max) throw invalid(name, `must have at most ${max} items (got ${value.length}).`)
    if (value.length < min) throw invalid(name, `must have at least ${min} item (got ${value.length}).`)
    // Not `map`, which would skip the holes of a sparse array.
    return Array.from(value, (one: unknown, index) => item.read(one, `${name}[${index}]`, now))
  }
  return { kind: 'list', schema, isRequired: true, read }
}

/** An object with these fields, such as a whole row (`Item`). Other fields are refused, and errors name the field of the item. */
export function item<Item>() {
  return <const List extends Fields>(list: List): RequiredField<Item, ReadOf<List>> => ({
    kind: 'list',
    schema: { type: 'object' },
    isRequired: true,
    read(value, name, now) {
      const given = checkObject(name, value)
      const { own, known } = namesIn(list)
      const unknown = unknownName(given, known)
      if (unknown !== null) throw unknownField(unknown, own, `${name}.`)
      // Not `Object.fromEntries`, which takes a microsecond more: a call may name a hundred objects.
      const values: Record<string, unknown> = {}
      for (const field in list) values[field] = list[field]!.read(given[field], `${name}.${field}`, now)
      return values as ReadOf<List>
    },
  })
}

export const oneOf = <const Value extends string>(allowed: readonly Value[]) =>
  required('text', { type: 'string', enum: allowed }, (name, value) => checkOneOf(name, value, allowed))

/** What a removal does to the row. */
export const removeMode = optional(oneOf(['soft', 'hard']), (): 'soft' | 'hard' => 'soft')

export const integer = (min: number, max: number) =>
  required('number', { type: 'integer', minimum: min, maximum: max }, (name, value) =>
    checkInteger(name, value, min, max),
  )

export const attemptId = required(
  'id',
  { type: 'string', format: 'uuid', pattern: ATTEMPT_ID.source },
  checkAttemptId,
)

const count = integer(0, Number.MAX_SAFE_INTEGER)
export const size = required('number', { ...count.schema, description: 'Bytes.' }, checkSize)
export const date = required('date', { type: 'string', format: 'date-time' }, checkDate)
export const boolean = required('boolean', { type: 'boolean' }, checkBoolean)

export const metadata = required<ObjectMetadata>(
  'metadata',
  {
    type: 'object',
    maxProperties: MAX_METADATA_ENTRIES,
    additionalProperties: { type: 'string' },
    description: `Names and values together at most ${MAX_METADATA_BYTES} bytes of UTF-8.`,
  },
  (_, value) => checkMetadata(value),
)

/** @throws StorageError if a call replaces the metadata and changes single names of it. */
export function refuseBothMetadata(replacesAll: boolean, setMetadata: unknown): void {
  if (replacesAll && setMetadata !== null && setMetadata !== undefined) {
    throw invalid('setMetadata', 'must not be given together with metadata.')
  }
}

export const metadataChanges = required<MetadataChanges>(
  'metadata',
  {
    type: 'object',
    additionalProperties: { type: ['string', 'null'] },
    description:
      `Names to set, and with \`null\` to remove. What is left has at most ${MAX_METADATA_ENTRIES} names, with their values ` +
      `at most ${MAX_METADATA_BYTES} bytes of UTF-8.`,
  },
  checkMetadataChanges,
)

export const futureDate: RequiredField<Date> = {
  ...date,
  read(value, name, now) {
    const future = checkDate(name, value)
    if (future > now) return future
    throw invalid(name, `must be in the future (got ${future.toISOString()}).`)
  },
}

export const quota: OptionalField<Quota, QuotaLimits> = {
  kind: 'quota',
  isRequired: false,
  schema: { type: 'object', properties: { maxBytes: size.schema, maxFiles: count.schema } },
  read: (value, name) => checkQuota(name, value),
}

export const PAGE = {
  /** 1..1000. Default 100. */
  limit: optional(integer(1, 1000), () => 100),
}

/** A cursor, which a driver receives as the position in it. */
export const cursor = (decode: (cursor: unknown) => string) =>
  optional(required('position', { type: 'string' }, (_, value) => decode(value)))

/** The last item of the previous page (`Item`), of which a driver receives these fields. Errors name the whole. */
export function position<Item>() {
  return <const List extends Fields>(list: List): OptionalField<Item, ReadOf<List> | null> => {
    const read = (value: unknown, name: string, now: Date) => {
      const item = checkObject(name, value)
      const values = Object.keys(list).map((field) => [field, list[field]!.read(item[field], name, now)])
      return Object.fromEntries(values) as ReadOf<List>
    }
    return optional<Item, ReadOf<List>>({
      kind: 'position',
      schema: { type: 'object' },
      isRequired: true,
      read,
    })
  }
}

export const REFERENCE = {
  /** 1..255 characters (Unicode code points). */
  bucket: text('bucket'),
  /** 1..1024 bytes of UTF-8, the limit of S3. */
  key: text('key'),
}
