import { shown, textFlaw, utf8Length } from '../../../core/store/validation/checks.js'

const MAX_BYTES = 63

/** The name of a schema in the forms that SQL needs. */
export interface SchemaName {
  readonly name: string
  /** The name as an SQL identifier. */
  readonly quoted: string
  /** The name as an SQL string. */
  readonly literal: string
}

/**
 * Checks the name of a schema and quotes it. The name is kept byte for byte.
 *
 * @throws TypeError for a name that Postgres reserves or can't hold, and for `$` and `\`, which could end a quoted
 * string.
 */
export function schemaName(caller: string, name: unknown): SchemaName {
  if (typeof name !== 'string')
    throw new TypeError(`${caller}: schema must be a string (got ${shown(name)}).`)
  const flaw = flawOf(name)
  if (flaw !== null) throw new TypeError(`${caller}: schema ${flaw} (got ${shown(name)}).`)
  return { name, quoted: `"${name.replaceAll('"', '""')}"`, literal: `'${name.replaceAll("'", "''")}'` }
}

function flawOf(name: string): string | null {
  if (name === '' || utf8Length(name) > MAX_BYTES) return `must be 1 to ${MAX_BYTES} bytes of UTF-8 long`
  if (/[$\\]/.test(name)) return 'must not contain "$" or "\\"'
  if (name.startsWith('pg_')) return 'must not begin with "pg_", which Postgres reserves'
  return textFlaw(name)
}

/** Fills the schema into SQL text. One pass, because the name itself may contain the text of a placeholder. */
export function inSchema(text: string, schema: SchemaName): string {
  return text.replace(/\{schema(-literal)?\}/g, (_, literal) => (literal ? schema.literal : schema.quoted))
}
