import type { StorageObject } from '../records.js'
import {
  attemptId,
  date,
  integer,
  optional,
  PAGE,
  position,
  REFERENCE,
  text,
  type CommandOf,
  type InputOf,
  type ReadOf,
} from './fields.js'

/** How long the check of arrived bytes may take, in seconds: a minute to 30 days. */
export const CHECK_SECONDS = { min: 60, max: 2_592_000 } as const
export const checkSeconds = integer(CHECK_SECONDS.min, CHECK_SECONDS.max)

/** How long a rejection is remembered, in seconds. */
export const REJECTION_SECONDS = 3600

export const LIST_ARRIVED = {
  scope: optional(text('scope')),
  /** Only attempts whose time for the check is over by then, inclusive. Default: all. */
  dueBefore: optional(date),
  ...PAGE,
  /** The last item of the previous page. */
  after: position<Pick<StorageObject, 'id' | 'expiresAt'>>()({ expiresAt: date, id: attemptId }),
}
export interface ListArrivedInput extends InputOf<typeof LIST_ARRIVED> {}
export interface ListArrivedQuery extends ReadOf<typeof LIST_ARRIVED> {}

export const REJECT = {
  ...REFERENCE,
  /** The arrived attempt. */
  id: attemptId,
  scope: optional(text('scope')),
  /** Why, 1 to 500 characters. The owner sees it. Default: none. */
  reason: optional(text('reason')),
}
export interface RejectInput extends InputOf<typeof REJECT> {}
export interface RejectCommand extends CommandOf<typeof REJECT> {}
