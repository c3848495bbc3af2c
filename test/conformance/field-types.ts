import { isAttemptId } from './attempt-ids.js'
import { isDate } from './is-date.js'
import { RECORD_NAMES } from './empty-row.js'

/** The values that a field of an input accepts. */
export interface FieldType {
  readonly isValid: (value: unknown, now: Date) => boolean
  /** Values to refuse, at least one for each reason. */
  readonly invalid: readonly unknown[]
  /** The fields that an error for this value may name, if not the field itself. */
  readonly fieldsOf?: (value: unknown) => readonly string[]
}

const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const LONE_SURROGATE = /\p{Surrogate}/u

function isStorable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && !LONE_SURROGATE.test(value)
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

const BAD_TEXTS = ['', 'a\0b', '\ud83d', 'a\udc00', 5, true, {}, ['a'], Symbol('text'), () => 'a']

function characters(most: number): FieldType {
  return {
    isValid: (value) => isStorable(value) && value.length > 0 && [...value].length <= most,
    // Two UTF-16 units to a character, to catch stores that count units.
    invalid: [...BAD_TEXTS, '\u{1d11e}'.repeat(most + 1)],
  }
}

function utf8Bytes(most: number): FieldType {
  return {
    isValid: (value) => isStorable(value) && value.length > 0 && bytesOf(value) <= most,
    // Two bytes to a character, to catch stores that count characters.
    invalid: [...BAD_TEXTS, 'é'.repeat(most / 2) + 'a'],
  }
}

function integer(least: number, most: number, invalid: readonly unknown[]): FieldType {
  return {
    isValid: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    invalid: [...invalid, 1.5, NaN, Infinity, '5', 5n, true, {}],
  }
}

function oneOf(allowed: readonly unknown[], invalid: readonly unknown[]): FieldType {
  return { isValid: (value) => allowed.includes(value), invalid }
}

const MOST_ENTRIES = 1000

export const name = characters(255)
export const longName = characters(1024)
export const objectKey = utf8Bytes(1024)

export const attemptId: FieldType = {
  isValid: isAttemptId,
  invalid: [
    '',
    'id',
    5,
    {},
    '01890A5D-AC96-774B-BCCE-B302099A8057', // upper case
    '01890a5dac96774bbcceb302099a8057', // no hyphens
    '01890a5d-ac96-474b-bcce-b302099a8057', // version 4
    '01890a5d-ac96-774b-ccce-b302099a8057', // another variant
    '{01890a5d-ac96-774b-bcce-b302099a8057}',
    '01890a5d-ac96-774b-bcce-b302099a8057 ',
    '01890a5d-ac96-774b-bcce-b302099a8057\n',
    '01890a5d-ac96-774b-bcce-b302099a805g',
  ],
}

export const size = integer(0, Number.MAX_SAFE_INTEGER, [-1, Number.MAX_SAFE_INTEGER + 1, []])
export const temporarySeconds = integer(1, 31_536_000, [0, -1, 31_536_001])
export const checkSeconds = integer(60, 2_592_000, [0, 59, 2_592_001])
export const reason = characters(500)
export const pageLimit = integer(1, 1000, [0, -1, 1001])

export const objectStatus = oneOf(
  ['pending', 'active', 'deleted'],
  ['', 'Active', 'gone', 5, {}, ['active'], true],
)
export const removeMode = oneOf(['soft', 'hard'], ['', 'Soft', 'purge', 5, {}, true])
export const boolean = oneOf([true, false], ['', 'true', 0, 1, {}])

export const date: FieldType = {
  isValid: (value) => isDate(value) && value.getTime() <= LATEST,
  invalid: [
    new Date(NaN),
    new Date('+010000-01-01T00:00:00.000Z'),
    Date.UTC(2030, 0, 1),
    '2030-01-01T00:00:00.000Z',
    {},
    true,
  ],
}

/** Dates that have passed are refused by a case of `reserve`, which knows the time of the clock. */
export const futureDate: FieldType = {
  isValid: (value, now) => date.isValid(value, now) && (value as Date) > now,
  invalid: date.invalid,
}

export const metadata: FieldType = {
  isValid(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const entries: [string, unknown][] = Object.entries(value)
    if (entries.length > 64) return false
    if (!entries.every(([name, text]) => isStorable(name) && isStorable(text))) return false
    return (
      entries.reduce((sum, [name, text]) => sum + bytesOf(name) + bytesOf(text as string), 0) <= 16 * 1024
    )
  },
  invalid: [
    'a',
    5,
    true,
    ['a'],
    { name: 5 },
    { name: null },
    { name: {} },
    { name: 'a\0b' },
    { 'a\0b': 'text' },
    { name: '\ud83d' },
    { '\udc00': 'text' },
    Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`name ${index}`, ''])),
    { name: 'é'.repeat(8 * 1024 - 2) + 'a' }, // one byte over 16 KiB
    { ['é'.repeat(8 * 1024)]: 'a' },
  ],
}

/** Names to set or, with `null`, to remove. The limits of metadata hold for what is set. */
export const metadataChanges: FieldType = {
  isValid(value, now) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const entries = Object.entries(value)
    const set = Object.fromEntries(entries.filter(([, text]) => text !== null))
    return entries.every(([name]) => isStorable(name)) && metadata.isValid(set, now)
  },
  invalid: [
    ...metadata.invalid.filter((value) => (value as { readonly name?: unknown }).name !== null),
    ...[{ name: undefined }, { 'a\0b': null }, { '\udc00': null }],
  ],
}

/** An object whose fields are valid; it may have others. */
function objectWith(fields: Record<string, FieldType>, invalid: readonly unknown[]): FieldType {
  return {
    isValid: (value, now) =>
      typeof value === 'object' &&
      value !== null &&
      Object.entries(fields).every(([name, type]) =>
        type.isValid((value as Record<string, unknown>)[name], now),
      ),
    invalid,
  }
}

export function orNull(type: FieldType): FieldType {
  return {
    ...type,
    isValid: (value, now) => value === undefined || value === null || type.isValid(value, now),
  }
}

export const quota = objectWith({ maxBytes: orNull(size), maxFiles: orNull(size) }, [
  5,
  'a',
  true,
  { maxBytes: -1 },
  { maxBytes: 1.5 },
  { maxBytes: NaN },
  { maxBytes: '5' },
  { maxBytes: 5n },
  { maxFiles: -1 },
  { maxFiles: 1.5 },
  { maxFiles: Infinity },
  { maxFiles: {} },
])

const BAD_POSITIONS = [
  5,
  'a',
  true,
  {},
  { id: 'a', expiresAt: new Date(0), attemptId: 'a', since: new Date(0) },
]
export const expiredPosition = objectWith({ id: attemptId, expiresAt: date }, BAD_POSITIONS)
export const temporaryPosition = objectWith({ id: attemptId, temporaryUntil: date }, BAD_POSITIONS)
/** The position of a list by `since` or, with `dueBefore`, of one by `dueAt`. Scripts pass whole leftovers, which have both. */
export const leftoverPosition = objectWith({ attemptId, since: orNull(date) }, BAD_POSITIONS)

/** A list of at most 1000 names. Errors name the list or one of its items. */
export const names: FieldType = {
  isValid: (value, now) =>
    Array.isArray(value) && value.length <= MOST_ENTRIES && value.every((item) => name.isValid(item, now)),
  invalid: [
    ...[5, 'a', true, {}, [null], [undefined]],
    Array.from({ length: MOST_ENTRIES + 1 }, () => 'a'),
    ...name.invalid.map((bad) => ['a', bad]),
  ],
  fieldsOf(value) {
    if (!Array.isArray(value) || value.length > MOST_ENTRIES) return ['lastScopes']
    return value.flatMap((item, index) => (name.isValid(item, new Date()) ? [] : [`lastScopes[${index}]`]))
  },
}

/** Cursors have their own error, so the cases of `cursor` check them. */
export const cursor: FieldType = { isValid: () => true, invalid: [] }

export const claimSeconds = integer(1, 3600, [0, -1, 3601])
const token = characters(100)

/** The options of `extendClaims`. Errors name the option. */
export const extendOptions: FieldType = {
  isValid: (value, now) =>
    typeof value === 'object' &&
    value !== null &&
    orNull(claimSeconds).isValid((value as { readonly claimSeconds?: unknown }).claimSeconds, now),
  invalid: [5, 'a', true, ...claimSeconds.invalid.map((seconds) => ({ claimSeconds: seconds }))],
  fieldsOf: (value) => (typeof value === 'object' && value !== null ? ['claimSeconds'] : ['options']),
}

/** A list of claims, each of another event. Errors name the entry and its field, such as `entries[3].id`, or `entries`. */
function claims(fields: Readonly<Record<string, FieldType>>): FieldType {
  const isEntry = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null
  const badFieldsOf = (entry: Readonly<Record<string, unknown>>) =>
    Object.entries(fields).flatMap(([name, type]) => (type.isValid(entry[name], new Date()) ? [] : [name]))
  const flawsOf = (value: unknown, index: number, all: readonly unknown[]): string[] => {
    if (!isEntry(value)) return [`entries[${index}]`]
    const isRepeated = all.slice(0, index).some((other) => isEntry(other) && other['id'] === value['id'])
    const bad = isRepeated ? ['id', ...badFieldsOf(value)] : badFieldsOf(value)
    return bad.map((name) => `entries[${index}].${name}`)
  }
  const entry = (index: number) => ({ id: `event ${index}`, claim: `claim ${index}` })
  const many = Array.from({ length: MOST_ENTRIES + 1 }, (_, index) => entry(index))
  return {
    isValid: (value) =>
      Array.isArray(value) && value.length <= MOST_ENTRIES && value.flatMap(flawsOf).length === 0,
    invalid: [
      ...[5, 'a', true, {}, entry(1), [null], [undefined], ['event'], [5]],
      many,
      [entry(1), entry(2), { ...entry(1), claim: 'another' }],
      ...Object.entries(fields).flatMap(([name, type]) =>
        type.invalid.map((bad) => [entry(1), { ...entry(2), [name]: bad }]),
      ),
      [{ id: 'event' }],
      [{ claim: 'claim' }],
      [{ id: null, claim: 'claim' }],
    ],
    fieldsOf(value) {
      return Array.isArray(value) && value.length <= MOST_ENTRIES ? value.flatMap(flawsOf) : ['entries']
    },
  }
}

export const extendedClaims = claims({ id: token, claim: token })
export const settledClaims = claims({ id: token, claim: token, retryAt: orNull(date) })

interface ListedObjects {
  readonly fields: Readonly<Record<string, FieldType>>
  /** Returns what no two objects may share. Errors name the last field of it. */
  readonly nameOf: (object: Readonly<Record<string, unknown>>) => string
  readonly named: string
  /** Returns a valid object by number. */
  readonly example: (number: number) => Readonly<Record<string, unknown>>
}

const MOST_OBJECTS = 100

/** A list of 1 to 100 objects. Errors name the object and its field, such as `objects[3].id`, or `objects`. */
function objects({ fields, nameOf, named, example }: ListedObjects): FieldType {
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null
  const isKnown = (name: string) => name in fields || RECORD_NAMES.includes(name)
  const flawsOf = (value: unknown, index: number, all: readonly unknown[]): string[] => {
    if (!isObject(value)) return [`objects[${index}]`]
    const isRepeated = all.slice(0, index).some((other) => isObject(other) && nameOf(other) === nameOf(value))
    const bad = [
      ...(isRepeated ? [named] : []),
      ...Object.keys(value).filter((name) => !isKnown(name) && value[name] != null),
      ...Object.entries(fields).flatMap(([name, type]) =>
        type.isValid(value[name], new Date()) ? [] : [name],
      ),
    ]
    return bad.map((name) => `objects[${index}].${name}`)
  }
  const isLength = (length: number) => length >= 1 && length <= MOST_OBJECTS
  return {
    isValid: (value) => Array.isArray(value) && isLength(value.length) && value.flatMap(flawsOf).length === 0,
    invalid: [
      ...[5, 'a', true, {}, [], example(1), [null], [undefined], ['a'], [5]],
      Array.from({ length: MOST_OBJECTS + 1 }, (_, index) => example(index)),
      [example(1), example(2), example(1)],
      [example(1), { ...example(2), scopes: 'alice' }],
      ...Object.entries(fields).flatMap(([name, type]) =>
        type.invalid.map((bad) => [example(1), { ...example(2), [name]: bad }]),
      ),
    ],
    fieldsOf: (value) =>
      Array.isArray(value) && isLength(value.length) ? value.flatMap(flawsOf) : ['objects'],
  }
}

const idOf = (number: number) => `0199a000-0000-7000-8000-${String(number).padStart(12, '0')}`

export const keptObjects = objects({
  fields: { id: attemptId, attemptId: orNull(attemptId) },
  nameOf: ({ id }) => String(id),
  named: 'id',
  example: (number) => ({ id: idOf(number) }),
})

export const endedObjects = objects({
  fields: { bucket: name, key: objectKey, id: attemptId, attemptId, temporaryUntil: date },
  nameOf: ({ bucket, key }) => JSON.stringify([String(bucket), String(key)]),
  named: 'key',
  example(number) {
    const id = idOf(number)
    return { bucket: 'bucket', key: `key ${number}`, id, attemptId: id, temporaryUntil: new Date(0) }
  },
})

/** A list of at most 100 ids. Errors name the list or one of its items. */
export const keptIds: FieldType = {
  isValid: (value, now) =>
    Array.isArray(value) &&
    value.length <= MOST_OBJECTS &&
    value.every((item) => attemptId.isValid(item, now)),
  invalid: [
    ...[5, 'a', true, {}, [null], [undefined]],
    Array.from({ length: MOST_OBJECTS + 1 }, (_, number) => idOf(number)),
    ...attemptId.invalid.map((bad) => [bad]),
  ],
  fieldsOf(value) {
    if (!Array.isArray(value) || value.length > MOST_OBJECTS) return ['keep']
    return value.flatMap((item, index) => (attemptId.isValid(item, new Date()) ? [] : [`keep[${index}]`]))
  },
}
