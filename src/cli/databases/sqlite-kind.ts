import { existsSync } from 'node:fs'
import { StorageError } from '../../index.js'
import { sqliteAdapter, type SqliteDatabase } from '../../adapters/sqlite/index.js'
import { UsageError } from '../exit.js'
import { loadDriver, withOption, type DatabaseKind } from './database-kinds.js'

interface OpenFile extends SqliteDatabase {
  close(): unknown
}

/** `sqlite:./relative` and `sqlite:///absolute`. */
export const SQLITE: DatabaseKind = {
  name: 'SQLite',
  protocols: ['sqlite:'],
  variable: 'DATABASE_URL',
  namespaceOption: 'prefix',

  async open({ url, namespace, events, mayCreate = false }) {
    const path = pathIn(url)
    // A misspelled path would get an empty file.
    if (!mayCreate && !existsSync(path)) {
      throw new UsageError(`There is no database file at ${path}.`, 'Create it with: svc-db migrate')
    }
    const database = await openFile(path)
    return {
      store: withOption('prefix', () =>
        sqliteAdapter(database, { tablePrefix: namespace ?? undefined, events }),
      ),
      close: async () => void database.close(),
    }
  },
}

/** @throws UsageError for a URL without a path, or with more than a path. */
function pathIn(url: string): string {
  const path = url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '')
  if (path !== '' && !path.startsWith('//') && !path.startsWith(':') && !/[?#]/.test(path)) return path
  throw new UsageError(
    'The database URL must have the path of a file, as in sqlite:./data.db or sqlite:///var/lib/app/data.db.',
  )
}

/** Opens a file with `node:sqlite` or, where this Node has none, with better-sqlite3. */
async function openFile(path: string): Promise<OpenFile> {
  const open = (await builtIn()) ?? (await installed())
  try {
    return open(path)
  } catch (error) {
    const { message } = error as Error
    throw new StorageError('DATABASE_UNAVAILABLE', {
      message: `SQLite can't open ${path}: ${message}.`,
      cause: error,
      retryable: false,
    })
  }
}

type Open = (path: string) => OpenFile

async function builtIn(): Promise<Open | null> {
  // In a variable, because the types of Node 20 lack the module.
  const name = 'node:sqlite'
  try {
    const { DatabaseSync } = (await import(name)) as { DatabaseSync: new (path: string) => OpenFile }
    return (path) => new DatabaseSync(path)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_UNKNOWN_BUILTIN_MODULE') return null
    throw error
  }
}

async function installed(): Promise<Open> {
  const { default: Database } = await loadDriver('better-sqlite3', () => import('better-sqlite3'))
  return (path) => new Database(path)
}
