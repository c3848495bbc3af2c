import { isDeepStrictEqual } from 'node:util'
import { claimOf, type LoggedEvent, type LoggedObject, type LogLine } from './event-log.js'
import { ADOPTED } from './object-load.js'

/** A claim of one event, as its claimer saw it. */
export interface Claim {
  readonly event: LoggedEvent
  readonly calledAt: number
  readonly at: number
  readonly from: number
  /** Later if the claim was extended. */
  until: number
  /** When the claimer called `settleEvents`. Until then it works on the object. */
  settlingAt: number
  /** When `settleEvents` returned, if it removed the event. */
  settledAt: number
}

export interface Evidence {
  /** The lines of all writers and claimers. */
  readonly lines: readonly LogLine[]
  /** The active row of each key after the last event. */
  readonly active: ReadonlyMap<string, LoggedObject | null>
  /** Whether responses were lost. A write that was repeated then may record its event twice, or report that nothing changed. */
  readonly wasInterrupted: boolean
}

/** Returns a description of each violation of what is guaranteed about events. */
export function faultsOf({ lines, active, wasInterrupted }: Evidence): string[] {
  const claims = claimsIn(lines)
  const events = eventsInOrder(claims)
  return [
    ...lines.flatMap((line) => (line.kind === 'fault' ? [line.text] : [])),
    ...[...active].flatMap(([key, row]) => brokenChains(events.get(key) ?? [], key, row)),
    ...missingEvents(lines, claims),
    ...unknownEvents(lines, claims, wasInterrupted),
    ...repeatedAttempts(claims),
    ...overlaps(claims),
    ...lateClaims(claims),
    ...neverClaimedAgain(claims),
  ]
}

export function claimsIn(lines: readonly LogLine[]): Claim[] {
  const claims = new Map<string, Claim>()
  for (const line of lines) {
    if (line.kind !== 'claimed') continue
    const { calledAt, at, from, until } = line
    for (const event of line.events as readonly LoggedEvent[]) {
      const settling = { settlingAt: Infinity, settledAt: Infinity }
      claims.set(claimOf(event), { event, calledAt, at, from, until, ...settling })
    }
  }
  for (const line of lines) {
    if (line.kind === 'extended') for (const name of line.claims) claims.get(name)!.until = line.until
    if (line.kind === 'settling') for (const name of line.claims) claims.get(name)!.settlingAt = line.at
    if (line.kind === 'settled') for (const name of line.claims) claims.get(name)!.settledAt = line.at
  }
  return [...claims.values()]
}

/** Returns whether the claimer never tried to settle it. */
export function isAbandoned({ settlingAt }: Claim): boolean {
  return settlingAt === Infinity
}

/** Returns abandoned claims whose events were not claimed again. */
function neverClaimedAgain(claims: readonly Claim[]): string[] {
  const attempts = new Map<string, number>()
  for (const { event } of claims) {
    attempts.set(event.id, Math.max(event.attempts, attempts.get(event.id) ?? 0))
  }
  return claims
    .filter((claim) => isAbandoned(claim) && claim.event.attempts === attempts.get(claim.event.id))
    .map(describe('never claimed again'))
}

/**
 * Returns the events of each key in the order of their first claims. An event is claimed only after the one before it was
 * settled, and settled only after its claimer got it, so this is the order in which they were delivered.
 */
function eventsInOrder(claims: readonly Claim[]): Map<string, LoggedEvent[]> {
  const firsts = new Map<string, Claim>()
  for (const claim of [...claims].sort((a, b) => a.at - b.at)) {
    if (!firsts.has(claim.event.id)) firsts.set(claim.event.id, claim)
  }
  const events = new Map<string, LoggedEvent[]>()
  for (const { event } of firsts.values()) {
    events.set(event.object.key, [...(events.get(event.object.key) ?? []), event])
  }
  return events
}

/** Returns the events of a key that don't continue the event before them, and a last event that isn't the state of the key. */
function brokenChains(events: readonly LoggedEvent[], key: string, active: LoggedObject | null): string[] {
  let state: LoggedObject | null = null
  const faults: string[] = []
  for (const event of events) {
    const { type, object, previous } = event
    const continues: boolean =
      type === 'deleted'
        ? previous === null && state !== null && isDeepStrictEqual(beforeRemoval(object, state), state)
        : isDeepStrictEqual(previous, state) && (state !== null || type === 'activated')
    if (!continues) faults.push(`${text(event)} does not continue ${text(state)}`)
    state = type === 'deleted' ? null : object
  }
  if (!isDeepStrictEqual(active, state))
    faults.push(`${key} is ${text(active)}, and its last event left ${text(state)}`)
  return faults
}

/** Returns the removed row as it was before. A hard removal returns that row itself. */
function beforeRemoval(removed: LoggedObject, { status, updatedAt }: LoggedObject): LoggedObject {
  return removed.status === 'deleted' ? { ...removed, status, updatedAt, deletedAt: null } : removed
}

/** Returns the rows of acknowledged changes that no event has. */
function missingEvents(lines: readonly LogLine[], claims: readonly Claim[]): string[] {
  const delivered = new Set(claims.map(({ event }) => canonical(event.object)))
  return lines.flatMap((line) => {
    if (line.kind !== 'changed' || delivered.has(canonical(line.row))) return []
    return [`no event reports ${text(line.row)}`]
  })
}

/** Returns the events of changes that nobody called, or that the contract refused, and repeated events of one change. */
function unknownEvents(
  lines: readonly LogLine[],
  claims: readonly Claim[],
  wasInterrupted: boolean,
): string[] {
  const called = new Set(lines.flatMap((line) => (line.kind === 'called' ? [line.change] : [])))
  const refused = new Set(lines.flatMap((line) => (line.kind === 'refused' ? [line.change] : [])))
  const events = new Map(claims.map(({ event }) => [event.id, event]))
  const seen = new Set<string>()
  return [...events.values()].flatMap((event) => {
    const name = nameOf(event)
    const isRepeated = seen.has(name)
    seen.add(name)
    if (!called.has(name)) return [`nobody called the change of ${text(event)}`]
    // An adoption that is repeated after a lost response adopts again if others have removed the object meanwhile.
    const mayAdoptAgain = wasInterrupted && name.startsWith(ADOPTED)
    if (event.type === 'activated' && isRepeated && !mayAdoptAgain) return [`activated twice: ${text(event)}`]
    if (wasInterrupted || event.type !== 'updated') return []
    if (refused.has(name)) return [`refused, and recorded: ${text(event)}`]
    return isRepeated ? [`recorded twice: ${text(event)}`] : []
  })
}

/** Returns the name of a change, as writers log it before they call. */
export function nameOf({ type, object, previous }: LoggedEvent): string {
  const { key, attemptId, scope, storageKey, metadata } = object
  switch (type) {
    case 'activated':
      return storageKey?.startsWith(ADOPTED) ? storageKey : `activated ${attemptId}`
    case 'updated':
      return storageKey !== null && storageKey !== previous?.storageKey
        ? storageKey
        : `updated ${metadata?.['mark']}`
    case 'transferred':
      return `transferred ${key} to ${scope}`
    case 'deleted':
      return `deleted ${key}`
    case 'arrived':
    case 'rejected':
      return `${type} ${attemptId}`
  }
}

/** Returns events that changed, and claims that two claimers got as the same attempt. */
function repeatedAttempts(claims: readonly Claim[]): string[] {
  const contents = new Map<string, string>()
  const attempts = new Set<string>()
  return claims.flatMap(({ event }) => {
    const { id, type, object, previous, createdAt } = event
    const content = canonical({ type, object, previous, createdAt })
    const name = `${id} ${event.attempts}`
    const isFault = (contents.get(id) ?? content) !== content || attempts.has(name)
    contents.set(id, content)
    attempts.add(name)
    return isFault ? [`claimed differently before: ${text(event)}`] : []
  })
}

/** Returns claims of one object whose claimers worked at the same time, although neither claim had expired. */
function overlaps(claims: readonly Claim[]): string[] {
  const byKey = new Map<string, Claim[]>()
  for (const claim of [...claims].sort((a, b) => a.from - b.from)) {
    const { key } = claim.event.object
    const own = byKey.get(key)
    if (own) own.push(claim)
    else byKey.set(key, [claim])
  }
  return [...byKey.values()].flatMap((own) =>
    own.flatMap((a, index) => {
      const faults: string[] = []
      for (const b of own.slice(index + 1)) {
        if (b.from >= a.until) break
        // A response may arrive after its claim has expired.
        const isExpired = b.from >= b.until
        if (!isExpired && Math.max(a.at, b.at) < Math.min(a.settlingAt, b.settlingAt))
          faults.push(`claimed at the same time: ${text([a, b].map(withoutRows))}`)
      }
      return faults
    }),
  )
}

/** Returns a claim without what it says about the object, to keep a description short. */
function withoutRows({ event: { id, type, attempts, claim }, ...times }: Claim): object {
  return { id, type, attempts, claim, ...times }
}

/** Returns claims of events that had been removed before the call. */
function lateClaims(claims: readonly Claim[]): string[] {
  const removedAt = new Map<string, number>()
  for (const { event, settledAt } of claims) {
    removedAt.set(event.id, Math.min(settledAt, removedAt.get(event.id) ?? Infinity))
  }
  return claims
    .filter((claim) => claim.calledAt > removedAt.get(claim.event.id)!)
    .map(describe('was settled before'))
}

const describe = (what: string) => (claim: Claim) => `${what}: ${text(claim)}`

/** Returns the same text for values that differ only in the order of their fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )
}

function text(value: unknown): string {
  return JSON.stringify(value)
}
