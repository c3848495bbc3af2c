/**
 * The mark of a row that has terms: microseconds in `writable_until`, whose dates have whole milliseconds otherwise. A confirm
 * of any version carries it along. So rows without terms cost a comparison, and those of `terms` are read for marked rows only.
 *
 * A pending row is marked if its attempt has terms: by one microsecond if its object will be temporary, by two if its bytes will
 * be checked, by three for both. An active one is marked if it is temporary. History never is.
 */

/** Whether a row is marked. A missing row is not. */
export const isMarked = (row: string) => `${row}.writable_until <> ${row}.writable_until::timestamptz(3)`

export const unmarked = (date: string) => `${date}::timestamptz(3)`
const markedBy = (microseconds: string) => (date: string) =>
  `${unmarked(date)} + interval '${microseconds} microseconds'`
export const markedTemporary = markedBy('1')
export const markedChecked = markedBy('2')
export const markedBoth = markedBy('3')

const writable = (row: string) => `${row}.writable_until`
/** Whether the bytes of a pending row are to be checked. */
export const isChecked = (row: string) => `${writable(row)} >= ${markedChecked(writable(row))}`
/** Whether all terms of a pending row are its check. */
export const isOnlyChecked = (row: string) => `${writable(row)} = ${markedChecked(writable(row))}`

/** Whether the bytes of a pending row have arrived and are being checked. */
export const hasArrived = (row: string) => `${row}.confirmed_at IS NOT NULL`

/** Selects the end of an attempt: of an active row, when it is gone, and of an arrived one, when the time for its check is over. */
const END = 'SELECT coalesce(t.temporary_until, t.check_until)'
const ofAttempt = (attempt: string) => `FROM {schema}.terms t WHERE t.attempt_id = ${attempt}`

/** The end of a row, for statements of functions. */
export const endOf = (row: string) =>
  `CASE WHEN ${isMarked(row)} THEN (${END} ${ofAttempt(`${row}.attempt_id`)}) END`

/** The end of a row, for reads: a function that few rows call costs the others less than one more table, which each call would open. */
export const endByCall = (row: string) =>
  `CASE WHEN ${isMarked(row)} THEN {schema}.end_of_v1(${row}.attempt_id) END`

export const END_OF = `
CREATE OR REPLACE FUNCTION {schema}.end_of_v1(p_attempt uuid) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $body$
BEGIN
  RETURN (${END} ${ofAttempt('p_attempt')});
END
$body$;
COMMENT ON FUNCTION {schema}.end_of_v1 IS 'Returns the end of a row with terms.';
`

/** Reads the end of a row into a variable. */
export const readEnd = (row: string, into: string) => `
  IF ${isMarked(row)} THEN
    ${END} INTO ${into} ${ofAttempt(`${row}.attempt_id`)};
  END IF;`

/** Drops the terms of a row that is no longer live or has none any more. Its last event needs them, so this comes after it. */
export const dropTerms = (row: string) => `
  IF ${isMarked(row)} THEN
    DELETE FROM {schema}.terms t WHERE t.attempt_id = ${row}.attempt_id;
  END IF;`

/** Databases accept no date after the last one. */
export const secondsAfter = (date: string, seconds: string) =>
  `least(${date} + interval '1 second' * ${seconds}::float8, timestamptz '9999-12-31 23:59:59.999+00')`
