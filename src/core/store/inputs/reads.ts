import { decodeCursor } from '../cursor.js'
import { OBJECT_STATUSES, type ObjectStatus } from '../records.js'
import { isSignal } from '../../on-abort.js'
import { checkText, invalid, shown } from '../validation/checks.js'
import {
  attemptId,
  boolean,
  cursor,
  inputNames,
  NO_TIME,
  oneOf,
  optional,
  PAGE,
  readFields,
  readQuery,
  REFERENCE,
  refuseUnknown,
  refuseUnknownNames,
  size,
  text,
  type InputOf,
  type ReadOf,
} from './fields.js'

const status = optional(oneOf(OBJECT_STATUSES))

function statusesOf(status: ObjectStatus | null): readonly ObjectStatus[] {
  return status === null ? ['pending', 'active'] : [status]
}

const LISTED = {
  scope: text('scope'),
  /** Only objects of this upload route. Matches exactly. */
  route: optional(text('route')),
  ...PAGE,
  /** `false` doesn't read the metadata: it is `null` in every row. Default `true`. */
  withMetadata: optional(boolean, () => true),
  /** `true` reads from the primary, which has every acknowledged write, even if lists are served by a replica. Default `false`. */
  fromPrimary: optional(boolean, () => false),
}
/** Fields that drivers receive in another form. */
const CONVERTED = {
  /** Default: pending and active. */
  status,
  /** `nextCursor` of the previous page. */
  cursor: cursor(decodeCursor),
}
const LIST = { ...LISTED, ...CONVERTED }
export interface ListByScopeInput extends InputOf<typeof LIST> {}
export interface ListQuery extends ReadOf<typeof LISTED> {
  /** One status, or pending and active. */
  readonly statuses: readonly ObjectStatus[]
  /** Exclusive upper bound of `id`. */
  readonly before: string | null
}

export function listQuery(input: ListByScopeInput): ListQuery {
  refuseUnknown(LIST, input)
  const query = readFields(LISTED, input, NO_TIME)
  const { status, cursor: before } = readFields(CONVERTED, input, NO_TIME)
  return Object.assign(query, { statuses: statusesOf(status), before })
}

const ITERATED = { scope: LISTED.scope, status, route: LISTED.route }
const ITERATE_NAMES = inputNames(new Set([...Object.keys(ITERATED), 'signal']))
export interface IterateByScopeInput extends InputOf<typeof ITERATED> {
  /** Ends the iteration, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined
}
export interface IterateQuery extends Omit<ListQuery, 'before' | 'limit'> {
  readonly signal: AbortSignal | null
}

export function iterateQuery(input: IterateByScopeInput): IterateQuery {
  refuseUnknownNames(ITERATE_NAMES, input)
  const { scope, status, route, signal = null } = input
  if (signal !== null && !isSignal(signal)) {
    throw invalid('signal', `must be an AbortSignal (got ${shown(signal)}).`)
  }
  return { ...listQuery({ scope, status, route }), signal }
}

const COUNT = { scope: text('scope'), status }
export interface CountQuery {
  readonly scope: string
  readonly statuses: readonly ObjectStatus[]
}

export function countQuery(input: InputOf<typeof COUNT>): CountQuery {
  const { scope, status } = readQuery(COUNT, input)
  return { scope, statuses: statusesOf(status) }
}

export const FIND = {
  ...REFERENCE,
  /** Returns `null` if the row belongs to another scope. */
  scope: optional(text('scope')),
}
export interface FindInput extends InputOf<typeof FIND> {}
export interface FindQuery extends ReadOf<typeof FIND> {}

export const FIND_PENDING = {
  ...FIND,
  /** Only the attempt with this id. */
  id: optional(attemptId),
  /** Only the multipart upload with this id. */
  uploadId: optional(text('uploadId')),
}
export interface FindPendingInput extends InputOf<typeof FIND_PENDING> {}
export interface FindPendingQuery extends ReadOf<typeof FIND_PENDING> {}

export const FIND_PENDING_MULTIPART = {
  ...REFERENCE,
  /** Bytes. Must equal the `declaredSize` of the row. */
  fileSize: size,
}
export interface FindPendingMultipartInput extends InputOf<typeof FIND_PENDING_MULTIPART> {}
export interface FindPendingMultipartQuery extends ReadOf<typeof FIND_PENDING_MULTIPART> {
  readonly now: Date
}

export const FIND_BY_ID = {
  id: attemptId,
  /** Returns `null` if the row belongs to another scope. */
  scope: optional(text('scope')),
}
export interface FindByIdInput extends InputOf<typeof FIND_BY_ID> {}
export interface FindByIdQuery extends ReadOf<typeof FIND_BY_ID> {}

const LIST_SCOPES = {
  ...PAGE,
  prefix: optional(text('scope')),
  /** The last scope of the previous page. */
  after: optional(text('scope')),
}
export interface ListScopesInput extends Omit<InputOf<typeof LIST_SCOPES>, 'prefix'> {
  /** Only scopes that start with this text, 1..255 characters. Leave it out to list all: `undefined` and `null` are refused. */
  readonly prefix?: string
}
export interface ListScopesQuery extends ReadOf<typeof LIST_SCOPES> {}

export function listScopesQuery(input: ListScopesInput | undefined): ListScopesQuery {
  const query = readQuery(LIST_SCOPES, input ?? {})
  // A variable that was never set must not list the scopes of everybody.
  if (input && 'prefix' in input) checkText('scope', input.prefix, 'prefix')
  return query
}

export const LIST_STORED = {
  bucket: text('bucket'),
  /** 1..1024 bytes of UTF-8. */
  prefix: optional(text('storageKey')),
  /** The last `storageKey` of the previous page. */
  after: optional(text('storageKey')),
  /** 1..1000. Default 100. A page may be longer, because items of one name are never split between two pages. */
  limit: PAGE.limit,
  withMetadata: LISTED.withMetadata,
}
export interface ListStoredInput extends InputOf<typeof LIST_STORED> {}
export interface ListStoredQuery extends ReadOf<typeof LIST_STORED> {}
