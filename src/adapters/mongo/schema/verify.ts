import type { Collection } from 'mongodb'
import type { Call } from '../connection/deadline.js'
import { serverCode } from '../connection/failures.js'
import { runCommand, type Namespace, type Stored } from '../connection/namespace.js'
import {
  type ExpectedIndex,
  type IndexedCollection,
  INDEXES,
  neededCollections,
  specification,
} from './indexes.js'
import { collectionFlaws, serverFlaw, shardingFlaws, validatorFlaws } from './requirements.js'
import { readState, SCHEMA_VERSION, tooNew } from './version.js'

/**
 * Returns what keeps this code from using the collections, in sentences for an operator. Ignores other collections and
 * indexes, and all indexes if newer code has migrated.
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
  findings.push(
    ...(await collectionFlaws(namespace)),
    ...(await validatorFlaws(namespace)),
    ...(await shardingFlaws(namespace)),
    ...(await foreignIndexes(namespace, neededCollections(state.events))).map(describeForeign),
  )
  if (state.version <= SCHEMA_VERSION) {
    findings.push(
      ...(await indexDifferences(namespace, neededCollections(state.events))).map(describeDifference),
    )
  }
  return findings
}

const NO_SUCH_COLLECTION = 26

/** An index that is missing from the database or has another definition there. */
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

/** An index that the adapter did not create, and that deletes documents or refuses some. */
export interface ForeignIndex {
  readonly collection: string
  readonly name: string
  readonly harm: 'deletes' | 'refuses'
}

/** Finds TTL indexes and unique indexes on the collections. The adapter has neither, apart from those of `_id`. */
export async function foreignIndexes(
  namespace: Namespace,
  collections: readonly IndexedCollection[],
): Promise<ForeignIndex[]> {
  const foreign: ForeignIndex[] = []
  for (const key of collections) {
    const { collectionName: collection } = namespace[key]
    for (const index of await indexesOf(namespace[key])) {
      const name = String(index['name'])
      if (name === '_id_' || INDEXES[key].some((own) => own.name === name)) continue
      if (index['expireAfterSeconds'] !== undefined) foreign.push({ collection, name, harm: 'deletes' })
      else if (index['unique'] === true) foreign.push({ collection, name, harm: 'refuses' })
    }
  }
  return foreign
}

export function describeForeign({ collection, name, harm }: ForeignIndex): string {
  const reason = harm === 'deletes' ? 'deletes documents by their age' : 'is unique, so it refuses documents'
  return `Unsafe: index ${name} of ${collection} ${reason}. Drop it.`
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

/** What `connectionStatus` returns about the user. */
interface AuthInfo {
  readonly authenticatedUsers: readonly unknown[]
  readonly authenticatedUserPrivileges?: readonly {
    readonly resource: { readonly db?: string; readonly collection?: string; readonly anyResource?: boolean }
    readonly actions: readonly string[]
  }[]
}

const INSPECT = ['find', 'listIndexes']
const READ_AND_WRITE = [...INSPECT, 'insert', 'update', 'remove']

/** Returns the privileges that calls and `verify()` need and the user lacks, one sentence for each of them. */
async function missingPrivileges(
  namespace: Namespace,
  collections: readonly IndexedCollection[],
): Promise<string[]> {
  const { databaseName } = namespace.db
  const { authenticatedUsers, authenticatedUserPrivileges: granted } = await readAuthInfo(namespace)
  // A server without authentication has no users.
  if (authenticatedUsers.length === 0 || !granted) return []

  const lacks = (action: string, name: string) =>
    !granted.some(({ actions, resource: { db, collection, anyResource } }) => {
      // An empty name stands for all.
      const isOn = (db === '' || db === databaseName) && (collection === '' || collection === name)
      return (isOn || anyResource === true) && actions.includes(action)
    })
  const sentence = (action: string, place: string) =>
    `Missing: the ${action} privilege of this user on ${place}.`

  const ofCollections = collections.flatMap((each) => {
    const name = namespace[each].collectionName
    const needed = each === 'schema' ? INSPECT : READ_AND_WRITE
    return needed.filter((action) => lacks(action, name)).map((action) => sentence(action, name))
  })
  const listing = lacks('listCollections', '')
    ? [sentence('listCollections', `the database ${databaseName}`)]
    : []
  return [...listing, ...ofCollections]
}

const API_STRICT = 323

async function readAuthInfo(namespace: Namespace): Promise<AuthInfo> {
  try {
    const status = await runCommand(namespace, { connectionStatus: 1, showPrivileges: true })
    return status['authInfo'] as AuthInfo
  } catch (error) {
    // A client with `apiStrict` can't send the command.
    if (serverCode(error) === API_STRICT) return { authenticatedUsers: [] }
    throw error
  }
}
