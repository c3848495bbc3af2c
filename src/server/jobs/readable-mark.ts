/**
 * The millisecond of a second that marks due dates of leftovers. No download URL can read the bytes from a marked date on, however long
 * URLs of other objects last. Days, hours and minutes of an application end with other milliseconds.
 */
const MARK = 613

/** Returns the first marked moment that isn't before a date. */
export function marked(date: Date): Date {
  const milliseconds = date.getTime() % 1000
  return new Date(date.getTime() + ((MARK - milliseconds + 1000) % 1000))
}

export function isMarked(date: Date): boolean {
  return date.getTime() % 1000 === MARK
}

/** Returns the date, or the next millisecond if the date is marked. */
export function unmarked(date: Date): Date {
  return isMarked(date) ? new Date(date.getTime() + 1) : date
}
