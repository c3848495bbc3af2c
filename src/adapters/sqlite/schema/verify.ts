import type { Connection } from '../connection/connection.js'
import { indexText, TABLES, tableText, VERSION } from './tables.js'
import { incompatibility, readVersion } from './version.js'

/**
 * Returns what keeps this code from working on the tables, in sentences for an operator. In tables that newer code migrated,
 * definitions may differ, but nothing may be missing.
 */
export function verify(connection: Connection): string[] {
  const settings = settingsThatLose(connection)
  const found = readVersion(connection)
  if (found.version === 0) {
    return [`The tables ${connection.named('{*}')} were never migrated. Run migrate().`, ...settings]
  }
  const findings: string[] = []
  if (found.version < VERSION) {
    findings.push(
      `The tables have version ${found.version}, but this code needs version ${VERSION}. Run migrate().`,
    )
  }
  const refusal = incompatibility(found)
  if (refusal !== null) findings.push(refusal)
  return [...findings, ...differences(connection, found.version > VERSION), ...settings]
}

interface Part {
  readonly kind: 'table' | 'index'
  readonly name: string
  readonly text: string
}

function differences(connection: Connection, isNewer: boolean): string[] {
  const parts = TABLES.flatMap((table): Part[] => [
    { kind: 'table', name: table.name, text: tableText(table) },
    ...table.indexes.map((index): Part => ({
      kind: 'index',
      name: index.name,
      text: indexText(table, index),
    })),
  ])
  const rows = connection.query('SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL')
  const actual = new Map(rows.map(([name, sql]) => [String(name), String(sql)]))
  return parts.flatMap(({ kind, name, text }) => {
    const fullName = connection.named(`{${name}}`)
    const sql = actual.get(fullName)
    if (sql === undefined) return [`Missing: the ${kind} ${fullName}. Run migrate().`]
    const expected = connection.named(text)
    // A column or an index that a newer release has added is no difference for this one.
    if (isNewer || withoutSpaces(sql) === withoutSpaces(expected)) return []
    return [`Differs: the ${kind} ${fullName} must be ${expected} (got ${sql}).`]
  })
}

const withoutSpaces = (sql: string) => sql.replace(/\s+/g, '')

/** Returns a sentence for each setting with which a power cut damages the file, or readers and a writer wait for each other. */
function settingsThatLose(connection: Connection): string[] {
  const [[mode] = []] = connection.query('PRAGMA journal_mode')
  if (mode === 'memory') return []
  const findings: string[] = []
  if (mode !== 'wal') {
    findings.push(
      `The journal mode must be wal (got ${String(mode)}): readers and a writer wait for each other. Run migrate().`,
    )
  }
  const [[synchronous] = []] = connection.query('PRAGMA synchronous')
  if (synchronous === 0) {
    findings.push(
      'synchronous is OFF on this handle, so a power cut can damage the file. Set PRAGMA synchronous to NORMAL or FULL.',
    )
  }
  return findings
}
