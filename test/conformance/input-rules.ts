import { isAttemptId } from './attempt-ids.js'

type Rule = (value: unknown) => boolean

const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const LONE_SURROGATE = /\p{Surrogate}/u

function isStorable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && !LONE_SURROGATE.test(value)
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

const characters =
  (most: number): Rule =>
  (value) =>
    isStorable(value) && value.length > 0 && [...value].length <= most

const bytes =
  (most: number): Rule =>
  (value) =>
    isStorable(value) && value.length > 0 && bytesOf(value) <= most

const integer =
  (least: number, most: number): Rule =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most

const oneOf =
  (...allowed: unknown[]): Rule =>
  (value) =>
    allowed.includes(value)

const size = integer(0, Number.MAX_SAFE_INTEGER)

const date: Rule = (value) => value instanceof Date && value.getTime() <= LATEST

const optional =
  (rule: Rule): Rule =>
  (value) =>
    value === undefined || value === null || rule(value)

const metadata: Rule = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries: [string, unknown][] = Object.entries(value)
  if (entries.length > 64) return false
  if (!entries.every(([name, text]) => isStorable(name) && isStorable(text))) return false
  return entries.reduce((sum, [name, text]) => sum + bytesOf(name) + bytesOf(text as string), 0) <= 16 * 1024
}

const fields =
  (rules: Record<string, Rule>): Rule =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(rules).every(([name, rule]) => rule((value as Record<string, unknown>)[name]))

/** What each input field may be, by its name; section 1 and 2 of the contract as a table. */
const RULES = {
  scope: characters(255),
  bucket: characters(255),
  key: bytes(1024),
  storageKey: bytes(1024),
  route: characters(255),
  contentType: characters(255),
  eTag: characters(255),
  filename: characters(1024),
  uploadId: characters(1024),
  id: isAttemptId,
  attemptId: isAttemptId,
  size,
  declaredSize: size,
  fileSize: size,
  limit: integer(1, 1000),
  status: oneOf('pending', 'active', 'deleted'),
  mode: oneOf('soft', 'hard'),
  overwrite: oneOf(true, false),
  expiresAt: date,
  before: date,
  metadata,
  quota: fields({ maxBytes: optional(size), maxFiles: optional(size) }),
} satisfies Record<string, Rule>

const EXPIRED_POSITION = fields({ id: isAttemptId, expiresAt: date })
const LEFTOVER_POSITION = fields({ attemptId: isAttemptId, since: date })

type FieldName = keyof typeof RULES

/** The fields of an input that are bad. `null` is the same as absent. */
function badFields(
  input: unknown,
  required: readonly FieldName[],
  optionalFields: readonly FieldName[] = [],
): string[] {
  if (typeof input !== 'object' || input === null) return ['input']
  const values = input as Record<string, unknown>
  return [
    ...required.filter((name) => !RULES[name](values[name])),
    ...optionalFields.filter((name) => !optional(RULES[name])(values[name])),
  ]
}

function badPosition(input: unknown, rule: Rule): string[] {
  return optional(rule)((input as { after?: unknown }).after) ? [] : ['after']
}

const atKey = ['bucket', 'key'] as const

/** For each call, which fields of its input are bad. Cursors and the order of refusals are not its business. */
export const badInput = {
  listByScope: (input: unknown) => badFields(input, ['scope'], ['status', 'route', 'limit']),
  countByScope: (scope: unknown, status: unknown) => badFields({ scope, status }, ['scope'], ['status']),
  getScopeUsage: (scope: unknown) => badFields({ scope }, ['scope']),
  reference: (input: unknown) => badFields(input, atKey),
  findPending: (input: unknown) => badFields(input, atKey, ['id', 'uploadId']),
  findPendingMultipart: (input: unknown) => badFields(input, [...atKey, 'fileSize']),
  reserve: (input: unknown, now: Date) => {
    const bad = badFields(
      input,
      ['scope', ...atKey, 'declaredSize', 'expiresAt'],
      ['route', 'filename', 'contentType', 'metadata', 'storageKey', 'uploadId', 'overwrite', 'quota', 'id'],
    )
    if (bad.includes('input') || bad.includes('expiresAt')) return bad
    return (input as { expiresAt: Date }).expiresAt > now ? bad : [...bad, 'expiresAt']
  },
  confirm: (input: unknown) =>
    badFields(input, [...atKey, 'size'], ['id', 'scope', 'eTag', 'contentType', 'quota']),
  setUploadId: (input: unknown) => badFields(input, [...atKey, 'id', 'uploadId']),
  release: (input: unknown) => badFields(input, atKey, ['id', 'scope', 'uploadId']),
  remove: (input: unknown) => badFields(input, atKey, ['scope', 'mode']),
  listExpired: (input: unknown = {}) => [
    ...badFields(input, [], ['scope', 'before', 'limit']),
    ...badPosition(input ?? {}, EXPIRED_POSITION),
  ],
  purgeExpired: (input: unknown = {}) => badFields(input, [], ['scope', 'before', 'limit']),
  listLeftovers: (input: unknown = {}) => [
    ...badFields(input, [], ['limit']),
    ...badPosition(input ?? {}, LEFTOVER_POSITION),
  ],
  forgetLeftover: (input: unknown) => badFields(input, ['attemptId']),
  purgeDeleted: (input: unknown) => badFields(input, ['before'], ['limit']),
}
