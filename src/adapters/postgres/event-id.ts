const MAX_BIGINT = 2n ** 63n - 1n
const MAX_INT = 2n ** 31n - 1n

/** An event as the functions of the schema take it. Numbers are strings, because a number can't hold every bigint. */
export interface EventPlace {
  /** The number of the object, which is that of its key's lock. */
  readonly number: string
  /** The position among all events. */
  readonly id: string
  /** The number of the attempt. */
  readonly claim: string
}

/**
 * Returns the public id of an event. It contains the number of the object, so that a lookup by both can use any index
 * of events.
 */
export function eventId(number: string, id: string): string {
  return `${number}.${id}`
}

/** Returns the token of a claim. It contains the position, so that no two claims have the same one. */
export function claimToken(id: string, attempt: string): string {
  return `${id}.${attempt}`
}

/** Returns what the id and the claim of an event mean, or `null` if no event can have them. Postgres would reject them. */
export function parseClaim({
  id,
  claim,
}: {
  readonly id: string
  readonly claim: string
}): EventPlace | null {
  const [, number, position] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(id) ?? []
  const [, ofPosition, attempt] = /^(\d{1,19})\.(\d{1,10})$/.exec(claim) ?? []
  if (number === undefined || ofPosition !== position || !isPosition(position!)) return null
  if (!isBetween(number, -MAX_BIGINT - 1n, MAX_BIGINT) || !isBetween(attempt!, 1n, MAX_INT)) return null
  return { number, id: position!, claim: attempt! }
}

/** Returns whether the text is the position of an event, as cursors of `listEvents` contain it. */
export function isPosition(text: string): boolean {
  return isBetween(text, 1n, MAX_BIGINT)
}

/** Returns whether the text is an integer between these, written as Postgres writes it. */
function isBetween(text: string, least: bigint, most: bigint): boolean {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return false
  const value = BigInt(text)
  return least <= value && value <= most
}
