import { utf8Length } from '../../../core/bytes.js'
import { RecentEntries } from '../../../core/recent-entries.js'
import { shown, textFlaw } from '../../../core/store/validation/checks.js'
import type { Statement } from '../connection/database.js'
import { EVENT_STATEMENTS } from './events.js'
import { COUNTED_SCOPE_LISTS, LISTS, SCOPE_LISTS } from './lists.js'
import { READS } from './reads.js'
import { SCHEMA } from './schema.js'
import { USAGE_CHECKS } from './usage-checks.js'
import { TRIES, WRITES } from './writes.js'

const MAX_BYTES = 63

export interface SchemaName {
  readonly name: string
  readonly quoted: string
  readonly literal: string
}

/**
 * Checks the name of a schema and quotes it. @throws TypeError for one that Postgres reserves or that could end a
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

/** Builds a statement. Its name is derived from its text, so other schemas and versions can share a connection. */
export function statement(name: string, text: string, schema: SchemaName): Statement {
  const complete = inSchema(text, schema)
  return { name: `svc_db_${name}_${fingerprint(complete)}`, text: complete }
}

export type Statements = ReturnType<typeof buildStatements>

export const buildStatements = (schema: SchemaName) => ({
  countedScopeLists: {
    full: versioned(COUNTED_SCOPE_LISTS.full, schema),
    withoutMetadata: versioned(COUNTED_SCOPE_LISTS.withoutMetadata, schema),
  },
  scopeLists: {
    full: versioned(SCOPE_LISTS.full, schema),
    withoutMetadata: versioned(SCOPE_LISTS.withoutMetadata, schema),
  },
  lists: versioned(LISTS, schema),
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
 * Builds statements that fail on an older schema, because they mention a type that exists from the version of this code
 * on. Postgres drops the unused subquery from the plan, so executing it costs nothing.
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
 * Returns the name of the type that exists from this schema version on. It depends on the name of the schema: functions
 * name that too, so in a copy they would write to the original.
 */
export function markerType(version: number, schema: SchemaName): string {
  return `schema_v${version}_${fingerprint(schema.name)}`
}

function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(36)
}
