import type { StorageObjectStore } from '../../index.js'
import { UsageError } from '../exit.js'

export interface OpenOptions {
  /** The URL for the driver, including the password. */
  readonly url: string
  /** Schema or prefix; `null`: the adapter's default. */
  readonly namespace: string | null
  readonly connectTimeoutMs: number
  /** How many calls run at once. Default 1. */
  readonly connections?: number | undefined
  /** The adapter's option of that name. */
  readonly events?: boolean | undefined
}

/** A store on a connection that this process owns. */
export interface OpenDatabase {
  readonly store: StorageObjectStore
  /** Returns advice about the server's settings, as far as the role may read them. */
  readonly advice: () => Promise<readonly string[]>
  close(): Promise<void>
}

/** A kind of database that the command supports. */
export interface DatabaseKind {
  readonly name: string
  /** URL protocols, such as `postgres:`. */
  readonly protocols: readonly string[]
  /** Environment variable with the default URL. */
  readonly variable: string
  /** Option that names the tables' schema or the collections' prefix. */
  readonly namespaceOption: 'schema' | 'prefix'
  /** Connects lazily. @throws UsageError for invalid options and if the driver is not installed. */
  open(options: OpenOptions): Promise<OpenDatabase>
}

/** Runs `make`, and turns the adapter's `TypeError` about its options into a `UsageError` about `--<option>`. */
export function withOption<T>(option: DatabaseKind['namespaceOption'], make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The message starts with the names of a function and its option, which mean nothing on the command line.
    const problem = error.message.replace(/^(?:\w+(?:\(\))?: )?[`"']?\w+[`"']? /, '')
    throw new UsageError(`--${option} ${problem}`)
  }
}

/** Imports a package that the application installs. @throws UsageError if it is not installed. */
export async function loadDriver<Driver>(name: string, load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`)
    if (!isMissing) throw error
    throw new UsageError(
      `This command needs the package "${name}", which is not installed.`,
      `Install it next to @svc/db: npm install ${name}`,
    )
  }
}
