/** The start of the year 1, the earliest date of a row or a bound. */
const YEAR_ONE = -62_135_596_800_000
const DIGITS = 15

function timeKey(date: Date): string {
  return String(date.getTime() - YEAR_ONE).padStart(DIGITS, '0')
}

/** Returns the sort key of a row in a list that is ordered by a date, then by id. */
export function datePosition(date: Date, id: string): string {
  return `${timeKey(date)}/${id}`
}

/** Returns the sort key after everything of that date. */
export function endOfDate(date: Date): string {
  return `${timeKey(date)}/~`
}
