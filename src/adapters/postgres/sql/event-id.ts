const MAX_BIGINT = 2n ** 63n - 1n
const MAX_INT = 2n ** 31n - 1n

const EVENT_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.(-?\d{1,19})\.(\d{1,19})$/

/** Where an event is in the table. Numbers are strings, because a number can't hold every bigint. */
interface Place {
  /** Identifies the object. */
  readonly digest: string
  /** The number of the lock of the object's key. */
  readonly number: string
  /** The position among all events. */
  readonly id: string
}

/** A claimed event as the functions of the schema take it. */
export interface EventPlace extends Place {
  /** The number of the attempt. */
  readonly claim: string
}

/** Returns the public id of an event. It identifies the object too, so that a lookup can use any index of events. */
export function eventId({ digest, number, id }: Place): string {
  return `${digest}.${number}.${id}`
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
  const [, digest, number, position] = EVENT_ID.exec(id) ?? []
  const [, ofPosition, attempt] = /^(\d{1,19})\.(\d{1,10})$/.exec(claim) ?? []
  if (digest === undefined || ofPosition !== position || !isPosition(position!)) return null
  if (!isBetween(number!, -MAX_BIGINT - 1n, MAX_BIGINT) || !isBetween(attempt!, 1n, MAX_INT)) return null
  return { digest, number: number!, id: position!, claim: attempt! }
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
