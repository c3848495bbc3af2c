import { namesOf, unknownName, type KnownNames } from '../../known-names.js'
import { decodeEventCursor } from '../cursor.js'
import type { StoredEvent } from '../events.js'
import type { ObjectReference } from '../records.js'
import {
  checkDate,
  checkObject,
  checkText,
  invalid,
  secondsAfter,
  shown,
  unknownField,
} from '../validation/checks.js'
import {
  boolean,
  cursor,
  integer,
  listOf,
  optional,
  PAGE,
  readQuery,
  text,
  type InputOf,
  type ReadOf,
} from './fields.js'

const claimSeconds = optional(integer(1, 3600), () => 60)
const MAX_ENTRIES = 1000
const MAX_LAST_SCOPES = 1000

/** How many events of each kind, those that are due first, a claim searches for other owners than `lastScopes`. */
export const CLAIM_LOOKAHEAD = 250

const CLAIM_EVENTS = {
  ...PAGE,
  /** How long the claims last, in seconds, 1..3600. Default 60. */
  claimSeconds,
  /** Only events of this object. Needs `key`. */
  bucket: optional(text('bucket')),
  /** Only events of this object. Needs `bucket`. */
  key: optional(text('key')),
  /** `true`: only events that were claimed before. `false`: only events that never were. Default: both. */
  attempted: optional(boolean),
  /**
   * Owners whose events come after those of all others, at most 1000. A store finds others among the 250 events that are due
   * first. Has no effect with `key`.
   */
  lastScopes: optional(listOf(text('scope'), MAX_LAST_SCOPES), () => []),
}
export interface ClaimEventsInput extends InputOf<typeof CLAIM_EVENTS> {}
export interface ClaimEventsCommand {
  readonly limit: number
  /** Only the oldest event of this object. */
  readonly reference: ObjectReference | null
  /** Whether the events must have been claimed before. `null`: both kinds. */
  readonly attempted: boolean | null
  /** The owners whose events come last, or none. Empty with `reference`. */
  readonly lastScopes: readonly string[]
  readonly now: Date
  /** The end of the claims. */
  readonly until: Date
}

export function claimEventsCommand(input: ClaimEventsInput | undefined, now: Date): ClaimEventsCommand {
  const { limit, claimSeconds, bucket, key, attempted, lastScopes } = readQuery(CLAIM_EVENTS, input ?? {})
  if (bucket === null && key !== null) throw invalid('bucket', 'must be given together with key.')
  if (key === null && bucket !== null) throw invalid('key', 'must be given together with bucket.')
  const reference = bucket !== null && key !== null ? { bucket, key } : null
  return {
    ...{ limit, reference, attempted, now, until: secondsAfter(now, claimSeconds) },
    lastScopes: reference ? [] : lastScopes,
  }
}

/** Names an event and the claim of the caller. Either may be any text of at most 100 characters. */
export interface EventClaim {
  readonly id: string
  readonly claim: string
}
export interface ExtendClaimInput extends EventClaim {}

/** An event to settle, such as a whole `StoredEvent`. Other fields are refused, because a misspelled `retryAt` would remove the event. */
export interface SettleEventInput extends ExtendClaimInput {
  /** When to try again. Without it, the event is removed. */
  readonly retryAt?: Date | null | undefined
}

export interface EventSettlement extends EventClaim {
  /** When to try again. `null` removes the event. */
  readonly retryAt: Date | null
}
export interface SettleEventsCommand {
  /** 1 to 1000, with different ids. */
  readonly entries: readonly EventSettlement[]
  readonly now: Date
}

/** Callers may pass whole events. */
const EXTENDED_NAMES = namesOf<StoredEvent & Pick<Extract<StoredEvent, { type: 'rejected' }>, 'reason'>>({
  ...{ id: true, type: true, object: true, previous: true, createdAt: true, reason: true },
  ...{ attempts: true, claim: true, hasNext: true },
})
const SETTLED_NAMES = new Set([...EXTENDED_NAMES, 'retryAt' satisfies keyof SettleEventInput])

export function settleEventsCommand(entries: readonly SettleEventInput[], now: Date): SettleEventsCommand {
  const read = (entry: Readonly<Record<string, unknown>>, name: string) =>
    Object.assign(eventClaim(entry, name), {
      retryAt: entry['retryAt'] == null ? null : checkDate(`${name}.retryAt`, entry['retryAt']),
    })
  return { entries: checkEntries(entries, SETTLED_NAMES, read), now }
}

const EXTEND_CLAIMS = {
  /** How long the claims last from now, in seconds, 1..3600. Default 60. */
  claimSeconds,
}
export interface ExtendClaimsOptions extends InputOf<typeof EXTEND_CLAIMS> {}
export interface ExtendClaimsCommand {
  /** 1 to 1000, with different ids. */
  readonly entries: readonly EventClaim[]
  readonly until: Date
}

export function extendClaimsCommand(
  entries: readonly ExtendClaimInput[],
  options: ExtendClaimsOptions | undefined,
  now: Date,
): ExtendClaimsCommand {
  const { claimSeconds } = readQuery(EXTEND_CLAIMS, checkObject('options', options ?? {}))
  return {
    entries: checkEntries(entries, EXTENDED_NAMES, eventClaim),
    until: secondsAfter(now, claimSeconds),
  }
}

function checkEntries<Entry extends EventClaim>(
  entries: unknown,
  known: KnownNames,
  read: (entry: Readonly<Record<string, unknown>>, name: string) => Entry,
): readonly Entry[] {
  if (!Array.isArray(entries)) throw invalid('entries', `must be an array (got ${shown(entries)}).`)
  if (entries.length > MAX_ENTRIES) {
    throw invalid('entries', `must have at most ${MAX_ENTRIES} items (got ${entries.length}).`)
  }
  const indices = new Map<string, number>()
  // Not `map`, which would skip the holes of a sparse array.
  return Array.from(entries, (entry: unknown, index) => {
    const name = `entries[${index}]`
    const given = checkObject(name, entry)
    const unknown = unknownName(given, known)
    if (unknown !== null) throw unknownField(unknown, known, `${name}.`)
    const checked = read(given, name)
    const earlier = indices.get(checked.id)
    if (earlier !== undefined) {
      throw invalid(`${name}.id`, `must differ from entries[${earlier}].id (got ${shown(checked.id)} twice).`)
    }
    indices.set(checked.id, index)
    return checked
  })
}

function eventClaim({ id, claim }: Readonly<Record<string, unknown>>, name: string): EventClaim {
  return { id: checkText('eventId', id, `${name}.id`), claim: checkText('claim', claim, `${name}.claim`) }
}

export const LIST_EVENTS = {
  ...PAGE,
  /** `next` of the previous page. */
  after: cursor(decodeEventCursor),
}
export interface ListEventsInput extends InputOf<typeof LIST_EVENTS> {}
/** `after` is `next` of an earlier page, possibly of another database. */
export interface ListEventsQuery extends ReadOf<typeof LIST_EVENTS> {}

export interface CountEventsQuery {
  readonly now: Date
}
