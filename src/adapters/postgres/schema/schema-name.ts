import { shown } from '../../../core/store/validation/invalid.js'
import { textFlaw, utf8Length } from '../../../core/store/validation/text.js'

const MAX_BYTES = 63

/** A schema as SQL text may name it. */
export interface SchemaName {
  readonly name: string
  /** As an identifier. */
  readonly quoted: string
  /** As a string. */
  readonly literal: string
}

/**
 * A name as it is, byte for byte, quoted wherever it goes.
 *
 * @throws TypeError for what Postgres takes for no schema of ours, and for `$` and `\`, which could end a quotation.
 */
export function schemaName(caller: string, name: unknown): SchemaName {
  if (typeof name !== 'string') throw new TypeError(`${caller}: schema must be a string, not ${shown(name)}.`)
  const flaw = flawOf(name)
  if (flaw !== null) throw new TypeError(`${caller}: schema ${flaw}, but is ${shown(name)}.`)
  return { name, quoted: `"${name.replaceAll('"', '""')}"`, literal: `'${name.replaceAll("'", "''")}'` }
}

function flawOf(name: string): string | null {
  if (name === '' || utf8Length(name) > MAX_BYTES) return `must be 1 to ${MAX_BYTES} bytes of UTF-8 long`
  if (/[$\\]/.test(name)) return 'must not contain "$" or "\\"'
  if (name.startsWith('pg_')) return 'must not begin with "pg_", which belongs to Postgres'
  return textFlaw(name)
}

/** SQL text with its schema filled in. */
export function inSchema(text: string, schema: SchemaName): string {
  return text.replaceAll('{schema}', () => schema.quoted).replaceAll('{schema-literal}', () => schema.literal)
}
