import { serverCode } from '../connection/failures.js'
import { runCommand, type Namespace } from '../connection/namespace.js'
import type { IndexedCollection } from './indexes.js'

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
export async function missingPrivileges(
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
