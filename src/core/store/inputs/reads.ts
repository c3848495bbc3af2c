import { decodeCursor } from '../cursor.js'
import type * as Driver from '../driver-commands.js'
import type {
  FindByIdInput,
  FindInput,
  FindPendingInput,
  FindPendingMultipartInput,
  ListByScopeInput,
  ListScopesInput,
  ListStoredInput,
} from '../input-types.js'
import { OBJECT_STATUSES, type ObjectStatus } from '../records.js'
import {
  checkAttemptId,
  checkBoolean,
  checkObject,
  checkOneOf,
  checkSize,
  optional,
} from '../validation/scalars.js'
import { checkText } from '../validation/text.js'
import { optionalId, optionalText, pageLimit, reference } from './fields.js'

/** The statuses of a listing or count that names none. */
const LIVE: readonly ObjectStatus[] = ['pending', 'active']

export function statuses(value: unknown): readonly ObjectStatus[] {
  const status = optional(value, (given) => checkOneOf('status', given, OBJECT_STATUSES))
  return status === null ? LIVE : [status]
}

export function listQuery(input: ListByScopeInput): Driver.ListQuery {
  const { scope, status, route, limit, cursor, withMetadata, fromPrimary } = checkObject('input', input)
  return {
    scope: checkText('scope', scope),
    statuses: statuses(status),
    route: optionalText('route', route),
    limit: pageLimit(limit),
    before: optional(cursor, decodeCursor),
    withMetadata: optional(withMetadata, (value) => checkBoolean('withMetadata', value)) ?? true,
    fromPrimary: optional(fromPrimary, (value) => checkBoolean('fromPrimary', value)) ?? false,
  }
}

export function findQuery(input: FindInput): Driver.FindQuery {
  const { bucket, key } = reference(input)
  return { bucket, key, scope: optionalText('scope', input.scope) }
}

export function findPendingQuery(input: FindPendingInput): Driver.FindPendingQuery {
  return {
    ...findQuery(input),
    id: optionalId('id', input.id),
    uploadId: optionalText('uploadId', input.uploadId),
  }
}

export function findPendingMultipartQuery(
  input: FindPendingMultipartInput,
  now: Date,
): Driver.FindPendingMultipartQuery {
  const { bucket, key } = reference(input)
  return { bucket, key, fileSize: checkSize('fileSize', input.fileSize), now }
}

export function findByIdQuery(input: FindByIdInput): Driver.FindByIdQuery {
  const { id, scope } = checkObject('input', input)
  return { id: checkAttemptId('id', id), scope: optionalText('scope', scope) }
}

export function listScopesQuery(input: ListScopesInput | undefined): Driver.ListScopesQuery {
  const { limit, after } = checkObject('input', input ?? {})
  return {
    limit: pageLimit(limit),
    after: optional(after, (scope) => checkText('scope', scope, 'after')),
  }
}

export function listStoredQuery(input: ListStoredInput): Driver.ListStoredQuery {
  const { bucket, prefix, after, limit } = checkObject('input', input)
  return {
    bucket: checkText('bucket', bucket),
    prefix: optional(prefix, (text) => checkText('storageKey', text, 'prefix')),
    after: optional(after, (name) => checkText('storageKey', name, 'after')),
    limit: pageLimit(limit),
  }
}
