import type { Collection } from 'mongodb'
import type { Call } from '../connection/deadline.js'
import { serverCode } from '../connection/failures.js'
import type { Namespace, Stored } from '../connection/namespace.js'
import {
  type ExpectedIndex,
  type IndexedCollection,
  INDEXES,
  neededCollections,
  specification,
} from './indexes.js'
import { missingPrivileges } from './privileges.js'
import { collectionFlaws, serverFlaw, shardingFlaws } from './requirements.js'
import { readState, SCHEMA_VERSION, tooNew } from './version.js'

/**
 * Returns what keeps this code from using the collections, in sentences for an operator; an empty list if nothing does.
 * Other collections and indexes are ignored, and so are all indexes if newer code has migrated the collections.
 */
export async function verify(namespace: Namespace, call: Call): Promise<string[]> {
  const findings = [await serverFlaw(namespace)].filter((flaw) => flaw !== null)
  findings.push(...(await missingPrivileges(namespace, neededCollections(false))))
  // The rest can't be read without these privileges.
  if (findings.length > 0) return findings
  const state = await readState(namespace, call)
  const { collectionName } = namespace.schema
  if (state.version === 0) {
    return [
      `${collectionName} in the database ${namespace.db.databaseName} has no schema version. ` +
        'Check the name of the database and collectionPrefix, then run migrate().',
    ]
  }
  if (state.events) findings.push(...(await missingPrivileges(namespace, ['events'])))
  if (findings.length > 0) return findings
  if (state.version < SCHEMA_VERSION) {
    const needed = `this code needs version ${SCHEMA_VERSION}. Run migrate().`
    findings.push(`${collectionName} has schema version ${state.version}, but ${needed}`)
  }
  const refusal = tooNew(state)
  if (refusal !== null) findings.push(refusal)
  findings.push(...(await collectionFlaws(namespace)), ...(await shardingFlaws(namespace)))
  if (state.version <= SCHEMA_VERSION) {
    findings.push(
      ...(await indexDifferences(namespace, neededCollections(state.events))).map(describeDifference),
    )
  }
  return findings
}

const NO_SUCH_COLLECTION = 26

/** An index of the adapter that is missing from the database or has another definition there. */
export interface IndexDifference {
  readonly collection: string
  readonly index: ExpectedIndex
  /** The index found in its place; `null` if it is missing. */
  readonly found: string | null
}

/** Options that change what an index holds or how it compares. Operators may set the others. */
const DEFINING = [
  'key',
  'partialFilterExpression',
  'unique',
  'sparse',
  'collation',
  'expireAfterSeconds',
  'hidden',
]

export async function indexDifferences(
  namespace: Namespace,
  collections: readonly IndexedCollection[],
): Promise<IndexDifference[]> {
  const differences: IndexDifference[] = []
  for (const name of collections) {
    const collection = namespace[name]
    const found = await indexesOf(collection)
    for (const index of INDEXES[name]) {
      const expected = definition(specification(index))
      const sameName = found.find((other) => other['name'] === index.name)
      if (sameName && definition(sameName) === expected) continue
      // An index with another name doesn't do, because queries ask for indexes by name.
      const other = sameName ?? found.find((each) => definition(each) === expected)
      const description = other ? `${String(other['name'])} ${definition(other)}` : null
      differences.push({ collection: collection.collectionName, index, found: description })
    }
  }
  return differences
}

export function describeDifference({ collection, index, found }: IndexDifference): string {
  if (found === null) return `Missing: index ${index.name} of ${collection}. Run migrate().`
  const expected = `${index.name} ${definition(specification(index))}`
  return `Differs: index of ${collection} must be ${expected} (found ${found}). Drop it and run migrate().`
}

async function indexesOf(collection: Collection<Stored>): Promise<Readonly<Record<string, unknown>>[]> {
  try {
    return (await collection.listIndexes().toArray()) as Readonly<Record<string, unknown>>[]
  } catch (error) {
    if (serverCode(error) === NO_SUCH_COLLECTION) return []
    throw error
  }
}

function definition(index: object): string {
  const fields = index as Readonly<Record<string, unknown>>
  const defining = DEFINING.filter((name) => fields[name] !== undefined && fields[name] !== false)
  return JSON.stringify(Object.fromEntries(defining.map((name) => [name, fields[name]])))
}
