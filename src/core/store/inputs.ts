import { StorageError } from '../errors.js'
import { createAttemptId } from './attempt-id.js'
import { decodeCursor } from './cursor.js'
import { OBJECT_STATUSES, type ObjectReference, type ObjectStatus, type Quota } from './records.js'
import type {
  ConfirmInput,
  DeferLeftoverInput,
  FindInput,
  FindPendingInput,
  FindPendingMultipartInput,
  ForgetLeftoverInput,
  ListByScopeInput,
  ListExpiredInput,
  ListLeftoversInput,
  PurgeDeletedInput,
  PurgeExpiredInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SetUploadIdInput,
} from './contract.js'
import type * as Driver from './driver.js'
import { invalid } from './validation/invalid.js'
import { checkMetadata } from './validation/metadata.js'
import { quotaFlaw, quotaLimits } from './validation/quota.js'
import {
  checkAttemptId,
  checkBoolean,
  checkDate,
  checkInteger,
  checkObject,
  checkOneOf,
  checkSize,
  optional,
} from './validation/scalars.js'
import { checkText, type TextField } from './validation/text.js'

/**
 * Turns each public input into the exact input of a driver: checked, with defaults filled in. This is the only place that
 * validates store input, for all adapters. Callers without TypeScript get the same checks.
 */

export const MAX_PAGE = 1000
const DEFAULT_PAGE = 100

/** The statuses of a listing or count that names none. */
const LIVE: readonly ObjectStatus[] = ['pending', 'active']

const optionalText = (field: TextField, value: unknown) => optional(value, (text) => checkText(field, text))
const optionalId = (field: string, value: unknown) => optional(value, (id) => checkAttemptId(field, id))

function pageLimit(value: unknown): number {
  return optional(value, (limit) => checkInteger('limit', limit, 1, MAX_PAGE)) ?? DEFAULT_PAGE
}

function quota(value: unknown): Driver.QuotaLimits {
  const checked = optional(value, (given) => {
    const flaw = quotaFlaw('quota', given)
    if (flaw) throw new StorageError('VALIDATION_ERROR', { message: `${flaw}.`, params: { field: 'quota' } })
    return given as Quota
  })
  return quotaLimits(checked)
}

export function statuses(value: unknown): readonly ObjectStatus[] {
  const status = optional(value, (given) => checkOneOf('status', given, OBJECT_STATUSES))
  return status === null ? LIVE : [status]
}

export function reference(input: ObjectReference): ObjectReference {
  const { bucket, key } = checkObject('input', input)
  return { bucket: checkText('bucket', bucket), key: checkText('key', key) }
}

export function listQuery(input: ListByScopeInput): Driver.ListQuery {
  const { scope, status, route, limit, cursor, withMetadata } = checkObject('input', input)
  return {
    scope: checkText('scope', scope),
    statuses: statuses(status),
    route: optionalText('route', route),
    limit: pageLimit(limit),
    before: optional(cursor, decodeCursor),
    withMetadata: optional(withMetadata, (value) => checkBoolean('withMetadata', value)) ?? true,
  }
}

export function findQuery(input: FindInput): Driver.FindQuery {
  return { ...reference(input), scope: optionalText('scope', input.scope) }
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
  return { ...reference(input), fileSize: checkSize('fileSize', input.fileSize), now }
}

export function reserveCommand(input: ReserveInput, now: Date): Driver.ReserveCommand {
  const { bucket, key } = reference(input)
  const expiresAt = checkDate('expiresAt', input.expiresAt)
  if (expiresAt <= now) throw invalid('expiresAt', `must be in the future (got ${expiresAt.toISOString()}).`)
  return {
    scope: checkText('scope', input.scope),
    bucket,
    key,
    declaredSize: checkSize('declaredSize', input.declaredSize),
    expiresAt,
    route: optionalText('route', input.route),
    filename: optionalText('filename', input.filename),
    contentType: optionalText('contentType', input.contentType),
    metadata: optional(input.metadata, checkMetadata),
    storageKey: optionalText('storageKey', input.storageKey),
    uploadId: optionalText('uploadId', input.uploadId),
    overwrite: optional(input.overwrite, (value) => checkBoolean('overwrite', value)) ?? true,
    quota: quota(input.quota),
    id: optionalId('id', input.id) ?? createAttemptId({ now: () => now }),
    now,
  }
}

export function confirmCommand(input: ConfirmInput, now: Date): Driver.ConfirmCommand {
  return {
    ...reference(input),
    id: optionalId('id', input.id),
    scope: optionalText('scope', input.scope),
    size: checkSize('size', input.size),
    eTag: optionalText('eTag', input.eTag),
    contentType: optionalText('contentType', input.contentType),
    quota: quota(input.quota),
    now,
  }
}

export function setUploadIdCommand(input: SetUploadIdInput, now: Date): Driver.SetUploadIdCommand {
  return {
    ...reference(input),
    id: checkAttemptId('id', input.id),
    uploadId: checkText('uploadId', input.uploadId),
    now,
  }
}

export function releaseCommand(input: ReleaseInput, now: Date): Driver.ReleaseCommand {
  return {
    ...reference(input),
    id: optionalId('id', input.id),
    scope: optionalText('scope', input.scope),
    uploadId: optionalText('uploadId', input.uploadId),
    now,
  }
}

export function removeCommand(input: RemoveInput, now: Date): Driver.RemoveCommand {
  return {
    ...reference(input),
    scope: optionalText('scope', input.scope),
    attemptId: optionalId('attemptId', input.attemptId),
    mode: optional(input.mode, (mode) => checkOneOf('mode', mode, ['soft', 'hard'])) ?? 'soft',
    now,
  }
}

export function listExpiredQuery(input: ListExpiredInput | undefined, now: Date): Driver.ListExpiredQuery {
  const { after, scope, before, limit } = checkObject('input', input ?? {})
  return {
    ...expiredRows(scope, before, limit, now),
    after: optional(after, (item) => {
      const { expiresAt, id } = checkObject('after', item)
      return { expiresAt: checkDate('after', expiresAt), id: checkAttemptId('after', id) }
    }),
  }
}

export function purgeExpiredCommand(
  input: PurgeExpiredInput | undefined,
  now: Date,
): Driver.PurgeExpiredCommand {
  const { scope, before, limit, ...unknown } = checkObject('input', input ?? {})
  refuseFields(unknown, 'scope, before and limit')
  return { ...expiredRows(scope, before, limit, now), now }
}

function expiredRows(scope: unknown, before: unknown, limit: unknown, now: Date) {
  const latest = optional(before, (date) => checkDate('before', date)) ?? now
  return {
    scope: optionalText('scope', scope),
    before: latest > now ? now : latest,
    limit: pageLimit(limit),
  }
}

/** Refuses unknown fields of a deletion: ignoring a misspelled filter would delete too much. */
function refuseFields(unknown: object, known: string): void {
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw invalid(name, `is not a field of this call, which takes ${known}.`)
}

export function listLeftoversQuery(input: ListLeftoversInput | undefined): Driver.ListLeftoversQuery {
  const { scope, limit, after } = checkObject('input', input ?? {})
  return {
    scope: optionalText('scope', scope),
    limit: pageLimit(limit),
    after: optional(after, (item) => {
      const { since, attemptId } = checkObject('after', item)
      return { since: checkDate('after', since), attemptId: checkAttemptId('after', attemptId) }
    }),
  }
}

/** Returns `null` if the input names no `dueBefore`: then it is an input for {@link listLeftoversQuery}. */
export function listDueLeftoversQuery(
  input: ListLeftoversInput | undefined,
): Driver.ListDueLeftoversQuery | null {
  const { scope, dueBefore, limit, after } = checkObject('input', input ?? {})
  const latest = optional(dueBefore, (date) => checkDate('dueBefore', date))
  if (latest === null) return null
  return {
    scope: optionalText('scope', scope),
    dueBefore: latest,
    limit: pageLimit(limit),
    after: optional(after, (item) => {
      const { dueAt, attemptId } = checkObject('after', item)
      return {
        dueAt: optional(dueAt, (date) => checkDate('after', date)),
        attemptId: checkAttemptId('after', attemptId),
      }
    }),
  }
}

export function deferLeftoverCommand(input: DeferLeftoverInput): Driver.DeferLeftoverCommand {
  const { attemptId, until } = checkObject('input', input)
  return { attemptId: checkAttemptId('attemptId', attemptId), until: checkDate('until', until) }
}

export function leftoverId(input: ForgetLeftoverInput): string {
  return checkAttemptId('attemptId', checkObject('input', input).attemptId)
}

export function purgeDeletedCommand(input: PurgeDeletedInput): Driver.PurgeDeletedCommand {
  const { scope, before, limit, ...unknown } = checkObject('input', input)
  refuseFields(unknown, 'before, scope and limit')
  return {
    scope: optionalText('scope', scope),
    before: checkDate('before', before),
    limit: pageLimit(limit),
  }
}
