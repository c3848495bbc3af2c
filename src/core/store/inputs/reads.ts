import { decodeCursor } from '../cursor.js'
import { OBJECT_STATUSES, type ObjectStatus } from '../records.js'
import {
  attemptId,
  boolean,
  oneOf,
  optional,
  pageLimit,
  readFields,
  REFERENCE,
  size,
  text,
  type Field,
  type InputOf,
  type ReadOf,
} from './fields.js'

/** The statuses of a listing or count that names none. */
const LIVE: readonly ObjectStatus[] = ['pending', 'active']

const status = optional(oneOf(OBJECT_STATUSES))

export function statuses(value: unknown, now: Date): readonly ObjectStatus[] {
  const one = status.read(value, 'status', now)
  return one === null ? LIVE : [one]
}

const cursor: Field<string, string | null, false> = {
  kind: 'position',
  isRequired: false,
  read: (value) => (value === undefined || value === null ? null : decodeCursor(value)),
}

export const LIST_BY_SCOPE = {
  scope: text('scope'),
  /** Default: pending and active. */
  status,
  /** Only objects of this upload route. Matches exactly. */
  route: optional(text('route')),
  /** 1..1000. Default 100. */
  limit: pageLimit,
  /** `nextCursor` of the previous page. */
  cursor,
  /** `false` doesn't read the metadata: it is `null` in every row. Default `true`. */
  withMetadata: optional(boolean, () => true),
  /** `true` reads from the primary, which has every acknowledged write, even if lists are served by a replica. Default `false`. */
  fromPrimary: optional(boolean, () => false),
}
export interface ListByScopeInput extends InputOf<typeof LIST_BY_SCOPE> {}
export interface ListQuery extends Omit<ReadOf<typeof LIST_BY_SCOPE>, 'status' | 'cursor'> {
  /** One status, or pending and active. */
  readonly statuses: readonly ObjectStatus[]
  /** Exclusive upper bound of `id`. */
  readonly before: string | null
}

export function listQuery(input: ListByScopeInput, now: Date): ListQuery {
  const { status, cursor, ...query } = readFields(LIST_BY_SCOPE, input, now)
  return { ...query, statuses: status === null ? LIVE : [status], before: cursor }
}

export interface CountQuery {
  readonly scope: string
  readonly statuses: readonly ObjectStatus[]
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

export const LIST_SCOPES = {
  /** 1..1000. Default 100. */
  limit: pageLimit,
  /** The last scope of the previous page. */
  after: optional(text('scope')),
}
export interface ListScopesInput extends InputOf<typeof LIST_SCOPES> {}
export interface ListScopesQuery extends ReadOf<typeof LIST_SCOPES> {}

export const LIST_STORED = {
  bucket: text('bucket'),
  /** 1..1024 bytes of UTF-8. */
  prefix: optional(text('storageKey')),
  /** The last `storageKey` of the previous page. */
  after: optional(text('storageKey')),
  /** 1..1000. Default 100. A page may be longer, because items of one name are never split between two pages. */
  limit: pageLimit,
}
export interface ListStoredInput extends InputOf<typeof LIST_STORED> {}
export interface ListStoredQuery extends ReadOf<typeof LIST_STORED> {}
