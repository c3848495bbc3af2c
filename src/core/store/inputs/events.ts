import { decodeEventCursor } from '../cursor.js'
import type * as Driver from '../driver-commands.js'
import type {
  ClaimEventsInput,
  ExtendClaimInput,
  ExtendClaimsOptions,
  ListEventsInput,
  SettleEventInput,
} from '../input-types.js'
import { invalid, shown } from '../validation/invalid.js'
import { checkDate, checkInteger, checkObject, LATEST_DATE, optional } from '../validation/scalars.js'
import { checkText } from '../validation/text.js'
import { optionalText, pageLimit } from './fields.js'

const DEFAULT_CLAIM_SECONDS = 60
const MAX_CLAIM_SECONDS = 3600
const MAX_ENTRIES = 1000

function endOfClaim(claimSeconds: unknown, now: Date): Date {
  const seconds =
    optional(claimSeconds, (value) => checkInteger('claimSeconds', value, 1, MAX_CLAIM_SECONDS)) ??
    DEFAULT_CLAIM_SECONDS
  // Databases accept no later date.
  return new Date(Math.min(now.getTime() + seconds * 1000, LATEST_DATE))
}

export function claimEventsCommand(
  input: ClaimEventsInput | undefined,
  now: Date,
): Driver.ClaimEventsCommand {
  const { limit, claimSeconds, ...reference } = checkObject('input', input ?? {})
  const bucket = optionalText('bucket', reference['bucket'])
  const key = optionalText('key', reference['key'])
  if (bucket === null && key !== null) throw invalid('bucket', 'must be given together with key.')
  if (key === null && bucket !== null) throw invalid('key', 'must be given together with bucket.')
  return {
    limit: pageLimit(limit),
    reference: bucket !== null && key !== null ? { bucket, key } : null,
    now,
    until: endOfClaim(claimSeconds, now),
  }
}

/** Checks a list of claims, each of another event. */
function checkEntries<Entry extends Driver.EventClaim>(
  entries: unknown,
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
    const checked = read(checkObject(name, entry), name)
    const earlier = indices.get(checked.id)
    if (earlier !== undefined) {
      throw invalid(`${name}.id`, `must differ from entries[${earlier}].id (got ${shown(checked.id)} twice).`)
    }
    indices.set(checked.id, index)
    return checked
  })
}

function eventClaim({ id, claim }: Readonly<Record<string, unknown>>, name: string): Driver.EventClaim {
  return { id: checkText('eventId', id, `${name}.id`), claim: checkText('claim', claim, `${name}.claim`) }
}

export function settleEventsCommand(
  entries: readonly SettleEventInput[],
  now: Date,
): Driver.SettleEventsCommand {
  const read = (entry: Readonly<Record<string, unknown>>, name: string) => ({
    ...eventClaim(entry, name),
    retryAt: optional(entry['retryAt'], (date) => checkDate(`${name}.retryAt`, date)),
  })
  return { entries: checkEntries(entries, read), now }
}

export function extendClaimsCommand(
  entries: readonly ExtendClaimInput[],
  options: ExtendClaimsOptions | undefined,
  now: Date,
): Driver.ExtendClaimsCommand {
  const { claimSeconds } = checkObject('options', options ?? {})
  return { entries: checkEntries(entries, eventClaim), until: endOfClaim(claimSeconds, now) }
}

export function listEventsQuery(input: ListEventsInput | undefined): Driver.ListEventsQuery {
  const { limit, after } = checkObject('input', input ?? {})
  return { limit: pageLimit(limit), after: optional(after, decodeEventCursor) }
}
