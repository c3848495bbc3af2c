/** The start of the year 1, before which no date of a row or a bound lies. */
const YEAR_ONE = -62_135_596_800_000
const DIGITS = 15

function timeKey(date: Date): string {
  return String(date.getTime() - YEAR_ONE).padStart(DIGITS, '0')
}

/** A sort key for lists that go by a date and then by an id. */
export function datePosition(date: Date, id: string): string {
  return `${timeKey(date)}/${id}`
}

/** The sort key behind everything of that date. */
export function endOfDate(date: Date): string {
  return `${timeKey(date)}/~`
}
