import type { TextRow } from '../connection/database.js'

/** What a reserve or a confirm answers. Numbers are texts, because the database has some that a number can't hold. */
export interface WriteAnswer {
  readonly outcome: string
  /** As `readObject` takes it; left out for an attempt that was just made, and where there is none. */
  readonly object?: TextRow
  /** The other scope whose lapsed reservation gave way. */
  readonly otherScope?: string
  /** The sum that a limit was compared with. */
  readonly used?: string
  /** By how much it would have grown. */
  readonly requested?: string
}

export function readAnswer(text: string | null | undefined): WriteAnswer {
  if (text == null) throw new RangeError('A function of the schema answers one text.')
  return JSON.parse(text) as WriteAnswer
}
