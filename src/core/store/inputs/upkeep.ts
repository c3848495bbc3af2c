import type { Leftover, StorageObject } from '../records.js'
import { LATEST_DATE } from '../validation/checks.js'
import {
  attemptId,
  date,
  optional,
  PAGE,
  position,
  readFields,
  readQuery,
  refuseOthers,
  text,
  type CommandOf,
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
  refuseOthers(PURGE_EXPIRED, input ?? {})
  return { ...untilNow(readFields(PURGE_EXPIRED, input ?? {}, now), now), now }
}

const LIST_EXPIRED = {
  ...PURGE_EXPIRED,
  /** The last item of the previous page. */
  after: position<Pick<StorageObject, 'id' | 'expiresAt'>>()({ expiresAt: date, id: attemptId }),
}
export interface ListExpiredInput extends InputOf<typeof LIST_EXPIRED> {}
export interface ListExpiredQuery extends ReadOf<typeof LIST_EXPIRED> {}

export function listExpiredQuery(input: ListExpiredInput | undefined, now: Date): ListExpiredQuery {
  return untilNow(readFields(LIST_EXPIRED, input ?? {}, now), now)
}

function untilNow<Query extends { readonly before: Date }>(query: Query, now: Date): Query {
  return query.before > now ? { ...query, before: now } : query
}

const LEFTOVERS = { scope: optional(text('scope')), ...PAGE }

export const LIST_LEFTOVERS = {
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
  return input?.dueBefore !== undefined && input.dueBefore !== null
}

export const DEFER_LEFTOVER = {
  attemptId,
  /** When the leftover is next worth a look. */
  until: date,
}
export interface DeferLeftoverInput extends InputOf<typeof DEFER_LEFTOVER> {}
export interface DeferLeftoverCommand extends ReadOf<typeof DEFER_LEFTOVER> {}

export const FORGET_LEFTOVER = { attemptId }
export interface ForgetLeftoverInput extends InputOf<typeof FORGET_LEFTOVER> {}

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
  refuseOthers(PURGE_DELETED_BY_ID, input)
  return namesId(input)
    ? readQuery(PURGE_DELETED_BY_ID, input)
    : { id: null, ...readQuery(PURGE_DELETED, input) }
}

function namesId(input: PurgeDeletedInput): input is PurgeDeletedByIdInput {
  return input.id !== undefined && input.id !== null
}
