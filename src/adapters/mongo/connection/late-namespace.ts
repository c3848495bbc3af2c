import type { Db } from 'mongodb'
import { StorageError } from '../../../core/errors.js'
import { A_DATABASE, checkDatabase, SEE, type MongoDatabaseSource } from './database.js'
import { openNamespace, type Namespace } from './namespace.js'

const NOT_OPEN =
  'The connection to MongoDB is not open yet: the function passed to mongoAdapter returned no database.'

/**
 * Returns the namespace of a connection that opens later. Each use of it looks for the `Db`, and throws
 * `DATABASE_UNAVAILABLE` until there is one. A connection that is opened again has another `Db`.
 */
export function lateNamespace(findDatabase: MongoDatabaseSource, prefix: string): Namespace {
  const opened = new WeakMap<Db, Namespace>()

  function current(): Namespace {
    const found = findDatabase()
    if (found === null || found === undefined) {
      throw new StorageError('DATABASE_UNAVAILABLE', { message: NOT_OPEN })
    }
    const db = checkDatabase(`mongoAdapter: the function must return ${A_DATABASE}: ${SEE}`, found)
    const namespace = opened.get(db) ?? openNamespace(db, prefix)
    opened.set(db, namespace)
    return namespace
  }

  return new Proxy({} as Namespace, {
    get: (_, property) => current()[property as keyof Namespace],
  })
}
