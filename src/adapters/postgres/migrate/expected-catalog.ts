import { inSchema, markerType, schemaName, type SchemaName } from '../sql/statement.js'
import type { Schema } from '../sql/schema.js'
import { columnsOf, VERSION_TABLE, type Table } from '../sql/tables.js'
import type { Catalog } from './catalog.js'
import { TRIGGER_CATALOG } from './events-switch.js'

/** Returns the catalog of a migrated schema, with events on or off. */
export function expectedCatalog(
  { version, tables, types, functions }: Schema,
  schema: SchemaName,
  { events }: { readonly events: boolean },
): Catalog {
  return new Map([
    ...(events ? TRIGGER_CATALOG : []),
    ...[VERSION_TABLE, ...tables].flatMap(entriesOf),
    ...types.map(({ name, columns }) => [`type ${name}`, sorted(columns)] as const),
    ...Array.from(
      { length: version - 1 },
      (_, index) => [`type ${markerType(index + 2, schema)}`, 'integer'] as const,
    ),
    ...[...functions.matchAll(FUNCTION)].map(
      ([, name, parameters, clauses, body]) =>
        [
          `function ${name}(${typesOf(parameters!)})`,
          settingsOf(clauses!) + inSchema(body!, schema),
        ] as const,
    ),
  ])
}

/** An object that is missing or different. */
export type Difference = ReturnType<typeof differences>[number]

/** Returns how a catalog differs from that of a migrated schema. More objects are no difference. */
export function differences(found: Catalog, wanted: Catalog) {
  return [...wanted]
    .map(([name, expected]) => ({ name, expected, actual: found.get(name) }))
    .filter(({ name, expected, actual }) =>
      actual === undefined || !name.startsWith('function ')
        ? actual !== expected
        : withoutLayout(actual) !== withoutLayout(expected),
    )
}

/** Drops comments and folds white space, which a migration tool may have changed. */
function withoutLayout(body: string): string {
  return body
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Returns the name that the schema had when it was migrated, which its functions contain. `null`: it has no functions. */
export function nameInFunctions(found: Catalog): SchemaName | null {
  const [, body] = [...found].find(([name]) => name.startsWith('function reserve_v1(')) ?? []
  const [, name] = /\br "((?:[^"]|"")+)"\.objects;/.exec(body ?? '') ?? []
  return name === undefined ? null : schemaName('verify', name.replaceAll('""', '"'))
}

function entriesOf({
  name,
  columns,
  primaryKey,
  checks = {},
  indexes,
}: Table): (readonly [string, string])[] {
  return [
    [`table ${name}`, 'permanent'],
    ...columnsOf({ columns }).map(([column, type]) => [`column ${name}.${column}`, type] as const),
    [`index ${name}_pkey`, `unique btree (${primaryKey})`],
    ...indexes.map(
      (index) => [`index ${index.name}`, `${index.isUnique ? 'unique ' : ''}${index.definition}`] as const,
    ),
    ...Object.entries(checks).map(([check, condition]) => [`constraint ${check}`, condition] as const),
  ]
}

const FUNCTION =
  /CREATE OR REPLACE FUNCTION \{schema\}\.(\w+)\(([^)]*)\)([^$]*)AS \$body\$([\s\S]*?)\$body\$/g

/** Returns the settings of a function, without which it would keep plans of tables that were small when they were made. */
function settingsOf(clauses: string): string {
  return [...clauses.matchAll(/\bSET (\w+) = (\w+)/g)].map(([, name, value]) => `${name}=${value}`).join(', ')
}

/** Returns the columns of a type by name, because their order does not matter. */
function sorted(columns: string): string {
  const named = columns.split(', ').map((column) => column.split(' ') as [string, string])
  return named
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, type]) => `${name} ${FULL_NAMES[type] ?? type}`)
    .join(', ')
}

/** Type names as Postgres writes them. */
const FULL_NAMES: Readonly<Record<string, string>> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
}

function typesOf(parameters: string): string {
  return parameters
    .split(',')
    .map((parameter) => parameter.trim().split(/\s+/))
    .filter(([first, type]) => first !== 'OUT' && type !== undefined)
    .map(([, type]) => FULL_NAMES[type!] ?? type!)
    .join(', ')
}
