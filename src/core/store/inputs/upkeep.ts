import { namesOf, unknownName } from '../../known-names.js'
import type { Leftover, StorageObject } from '../records.js'
import { checkObject, LATEST_DATE, unknownField } from '../validation/checks.js'
import {
  attemptId,
  date,
  inputNames,
  namesIn,
  NO_TIME,
  optional,
  PAGE,
  position,
  readCommand,
  readFields,
  readQuery,
  refuseUnknown,
  refuseUnknownNames,
  text,
  type CommandOf,
  type Fields,
  type InputOf,
  type ReadOf,
} from './fields.js'

export const PURGE_EXPIRED = {
  scope: optional(text('scope')),
  /** Only reservations that expired by then. Default now, which is also the latest possible value. */
  before: optional(date, (now) => now),
  ...PAGE,
}
export interface PurgeExpiredInput extends InputOf<typeof PURGE_EXPIRED> {}
export interface PurgeExpiredCommand extends CommandOf<typeof PURGE_EXPIRED> {}

export function purgeExpiredCommand(input: PurgeExpiredInput | undefined, now: Date): PurgeExpiredCommand {
  const given = checkObject('input', input ?? {})
  // The scope of a whole row bounds the purge, which knows no single reservation.
  if (!isGiven(given['id']) || !isGiven(given['scope'])) refuseOthers(PURGE_EXPIRED, given)
  return untilNow(readCommand(PURGE_EXPIRED, given, now), now)
}

const LIST_EXPIRED = {
  ...PURGE_EXPIRED,
  /** The last item of the previous page. */
  after: position<Pick<StorageObject, 'id' | 'expiresAt'>>()({ expiresAt: date, id: attemptId }),
}
export interface ListExpiredInput extends InputOf<typeof LIST_EXPIRED> {}
export interface ListExpiredQuery extends ReadOf<typeof LIST_EXPIRED> {}

export function listExpiredQuery(input: ListExpiredInput | undefined, now: Date): ListExpiredQuery {
  refuseUnknown(LIST_EXPIRED, input ?? {})
  return untilNow(readFields(LIST_EXPIRED, input ?? {}, now), now)
}

function untilNow<Query extends { readonly before: Date }>(query: Query, now: Date): Query {
  return query.before > now ? { ...query, before: now } : query
}

const LEFTOVERS = { scope: optional(text('scope')), ...PAGE }

const LIST_LEFTOVERS = {
  ...LEFTOVERS,
  /** The last item of the previous page. */
  after: position<Pick<Leftover, 'since' | 'attemptId'>>()({ since: date, attemptId }),
}
/** Lists by `since`, then `attemptId`. */
export interface ListAllLeftoversInput extends InputOf<typeof LIST_LEFTOVERS> {
  readonly dueBefore?: null | undefined
}
export interface ListLeftoversQuery extends ReadOf<typeof LIST_LEFTOVERS> {}

export const LIST_DUE_LEFTOVERS = {
  ...LEFTOVERS,
  /** Inclusive. */
  dueBefore: date,
  /** The last item of the previous page. */
  after: position<Pick<Leftover, 'dueAt' | 'attemptId'>>()({ dueAt: optional(date), attemptId }),
}
/** Lists leftovers that were never put off, by `attemptId`; then those due by `dueBefore`, by `dueAt` and `attemptId`. */
export interface ListDueLeftoversInput extends InputOf<typeof LIST_DUE_LEFTOVERS> {}
export interface ListDueLeftoversQuery extends ReadOf<typeof LIST_DUE_LEFTOVERS> {}

export type ListLeftoversInput = ListAllLeftoversInput | ListDueLeftoversInput

export function namesDueBefore(input: ListLeftoversInput | undefined): input is ListDueLeftoversInput {
  return isGiven(input?.dueBefore)
}

export function listLeftoversQuery(input: ListAllLeftoversInput | undefined): ListLeftoversQuery {
  // The call has both lists.
  refuseUnknown(LIST_DUE_LEFTOVERS, input ?? {})
  return readFields(LIST_LEFTOVERS, input ?? {}, NO_TIME)
}

const DEFER_LEFTOVER = {
  attemptId,
  /** When the leftover is next worth a look. */
  until: date,
  /** Only if the leftover is in the list with this `dueBefore`. So one of several runs can take it. */
  dueBefore: optional(date),
  /** When the last download URL of the bytes is over. Default: unchanged. */
  readableUntil: optional(date),
}
export interface DeferLeftoverInput extends InputOf<typeof DEFER_LEFTOVER> {}
export interface DeferLeftoverCommand extends ReadOf<typeof DEFER_LEFTOVER> {}

const FORGET_LEFTOVER = { attemptId }
export interface ForgetLeftoverInput extends InputOf<typeof FORGET_LEFTOVER> {}

/** Callers may pass a whole leftover. */
const LEFTOVER_NAMES = namesOf<Leftover>({
  ...{ attemptId: true, scope: true, bucket: true, key: true, storageKey: true, uploadId: true },
  ...{ since: true, writableUntil: true, dueAt: true, readableUntil: true },
})
const DEFER_NAMES = inputNames(new Set(Object.keys(DEFER_LEFTOVER)), LEFTOVER_NAMES)
const FORGET_NAMES = inputNames(new Set(Object.keys(FORGET_LEFTOVER)), LEFTOVER_NAMES)

export function deferLeftoverCommand(input: DeferLeftoverInput): DeferLeftoverCommand {
  refuseUnknownNames(DEFER_NAMES, input)
  return readFields(DEFER_LEFTOVER, input, NO_TIME)
}

export function forgottenAttempt(input: ForgetLeftoverInput): string {
  refuseUnknownNames(FORGET_NAMES, input)
  return readFields(FORGET_LEFTOVER, input, NO_TIME).attemptId
}

const PURGED = { scope: optional(text('scope')), ...PAGE }

const PURGE_DELETED = {
  ...PURGED,
  /** Only history with `deletedAt` up to and including this time. */
  before: date,
}
/** Deletes history up to a date. */
export interface PurgeDeletedBeforeInput extends InputOf<typeof PURGE_DELETED> {
  readonly id?: null | undefined
}

const PURGE_DELETED_BY_ID = {
  ...PURGED,
  /** The object whose history is deleted. */
  id: attemptId,
  /** Only history with `deletedAt` up to and including this time. Default: any. */
  before: optional(date, () => new Date(LATEST_DATE)),
}
/** Deletes the history of one object. */
export interface PurgeDeletedByIdInput extends InputOf<typeof PURGE_DELETED_BY_ID> {}

export type PurgeDeletedInput = PurgeDeletedBeforeInput | PurgeDeletedByIdInput

export interface PurgeDeletedCommand extends ReadOf<typeof PURGE_DELETED> {
  readonly id: string | null
}

export function purgeDeletedCommand(input: PurgeDeletedInput): PurgeDeletedCommand {
  const given = checkObject('input', input)
  if (namesId(input)) return readQuery(PURGE_DELETED_BY_ID, input)
  refuseOthers(PURGE_DELETED_BY_ID, given)
  return { id: null, ...readQuery(PURGE_DELETED, input) }
}

function namesId(input: PurgeDeletedInput): input is PurgeDeletedByIdInput {
  return isGiven(input.id)
}

/** Refuses fields of a record as well: `bucket` alone would be a filter that is ignored, and the purge would delete too much. */
function refuseOthers(list: Fields, given: Readonly<Record<string, unknown>>): void {
  const { own } = namesIn(list)
  const name = unknownName(given, own)
  if (name !== null) throw unknownField(name, own)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
