import { utf8Length } from '../../../core/bytes.js'
import { RecentEntries } from '../../../core/recent-entries.js'
import { shown, textFlaw } from '../../../core/store/validation/checks.js'
import type { Statement } from '../connection/database.js'
import { EVENT_STATEMENTS } from './event-statements.js'
import { LISTS, LISTS_WITHOUT_METADATA, READS } from './reads.js'
import { SCHEMA } from './schema.js'
import { USAGE_CHECKS } from './usage-checks.js'
import { TRIES, WRITES } from './writes.js'

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

/**
 * Builds a statement that works on a schema of any version. Its name is derived from its text, so adapters over other
 * schemas, and other versions of the library, can share a connection.
 */
export function statement(name: string, text: string, schema: SchemaName): Statement {
  const complete = inSchema(text, schema)
  return { name: `svc_db_${name}_${fingerprint(complete)}`, text: complete }
}

/** The statements of the calls on a schema. */
export type Statements = ReturnType<typeof buildStatements>

export const buildStatements = (schema: SchemaName) => ({
  lists: versioned(LISTS, schema),
  listsWithoutMetadata: versioned(LISTS_WITHOUT_METADATA, schema),
  reads: versioned(READS, schema),
  writes: versioned(WRITES, schema),
  tries: versioned(TRIES, schema),
  usage: versioned(USAGE_CHECKS, schema),
  events: versioned(EVENT_STATEMENTS, schema),
})

/** Building them takes milliseconds, and workers may create a store for each request. */
const recentStatements = new RecentEntries<Statements>(8)

export function statementsOf(schema: SchemaName): Statements {
  const statements = recentStatements.get(schema.name) ?? buildStatements(schema)
  recentStatements.set(schema.name, statements)
  return statements
}

/**
 * Builds statements that fail on a schema that was not migrated to the version of this code, because they mention the type that
 * exists from that version on. Without it, code of a version that only adds an index would run on the older schema. Postgres
 * resolves the type when it parses a statement and drops the unused subquery from the plan, so executing it costs nothing.
 */
function versioned<Texts extends Readonly<Record<string, string>>>(texts: Texts, schema: SchemaName) {
  const needed = `needed AS (SELECT NULL::{schema}.${markerType(SCHEMA.version, schema)})`
  const statements = Object.entries(texts).map(([name, text]) => {
    const [, rest] = /^\s*WITH\s([^]*)$/.exec(text) ?? []
    const complete = `WITH ${needed}${rest === undefined ? ` ${text}` : `, ${rest}`}`
    return [name, statement(name, complete, schema)] as const
  })
  return Object.fromEntries(statements) as Readonly<Record<keyof Texts, Statement>>
}

/**
 * Returns the name of the type that exists from this schema version on. It depends on the name of the schema, because functions
 * name the schema too: in one that was renamed or copied, they would write to another.
 */
export function markerType(version: number, schema: SchemaName): string {
  return `schema_v${version}_${fingerprint(schema.name)}`
}

/** Returns the 64-bit FNV-1a hash of a text. */
function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(36)
}
