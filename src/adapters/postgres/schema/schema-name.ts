import { textFlaw } from '../../../core/validation/text.js'

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
export function schemaName(name: string): SchemaName {
  const flaw = flawOf(name)
  if (flaw) throw new TypeError(`schema ${flaw}`)
  return { name, quoted: `"${name.replaceAll('"', '""')}"`, literal: `'${name.replaceAll("'", "''")}'` }
}

function flawOf(name: unknown): string | null {
  if (typeof name !== 'string' || name === '') return 'must be a name.'
  if (new TextEncoder().encode(name).length > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes long.`
  const flaw = textFlaw(name)
  if (flaw) return `${flaw}.`
  if (/[$\\]/.test(name)) return 'must not contain "$" or "\\".'
  if (name.startsWith('pg_')) return 'must not begin with "pg_", which belongs to Postgres.'
  return null
}

/** SQL text with its schema filled in. */
export function inSchema(text: string, schema: SchemaName): string {
  return text.replaceAll('{schema}', () => schema.quoted).replaceAll('{schema-literal}', () => schema.literal)
}
