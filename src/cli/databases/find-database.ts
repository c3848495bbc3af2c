import { printable } from '../../core/printable.js'
import { UsageError } from '../exit.js'
import { MONGO, POSTGRES, type DatabaseKind } from './database-kinds.js'
import { SQLITE } from './sqlite-kind.js'
import { readDatabaseURL, type DatabaseURL } from './database-url.js'

const KINDS: readonly DatabaseKind[] = [POSTGRES, MONGO, SQLITE]

export interface DatabaseOptions {
  readonly url?: string | undefined
  readonly schema?: string | undefined
  readonly prefix?: string | undefined
}

export type FoundDatabase = ReturnType<typeof findDatabase>

/** Finds the database to work on. @throws UsageError unless options and environment name exactly one supported database. */
export function findDatabase(
  options: DatabaseOptions,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const url =
    options.url === undefined ? urlFromEnvironment(environment) : readDatabaseURL(options.url, '--url')
  const kind = KINDS.find(({ protocols }) => protocols.includes(url.protocol))
  if (!kind) {
    const known = KINDS.flatMap(({ protocols }) => protocols).map((protocol) =>
      protocol === 'sqlite:' ? protocol : `${protocol}//`,
    )
    throw new UsageError(`Unsupported database URL: ${url.protocol}// (supported: ${known.join(', ')}).`)
  }
  for (const other of ['schema', 'prefix'] as const) {
    if (options[other] !== undefined && kind.namespaceOption !== other) {
      throw new UsageError(`--${other} does not apply to ${kind.name}. Use --${kind.namespaceOption}.`)
    }
  }
  const namespace = options[kind.namespaceOption] ?? null
  const shown =
    namespace === null ? url.shown : `${url.shown} (${kind.namespaceOption} ${printable(namespace)})`
  // `namespace`: the schema or the prefix; `null` for the adapter's default. `shown` has neither password nor parameters.
  return { kind, url, namespace, shown }
}

function urlFromEnvironment(environment: Readonly<Record<string, string | undefined>>): DatabaseURL {
  const variables = [...new Set(KINDS.map(({ variable }) => variable))]
  const [first, second] = variables.filter((variable) => environment[variable])
  if (first === undefined) {
    throw new UsageError(
      'No database URL is set.',
      `Set ${variables.join(' or ')}, or pass --url (other users of this machine can see it in the process list).`,
    )
  }
  if (second !== undefined) {
    throw new UsageError(`${first} and ${second} are both set.`, 'Unset one of them, or pass --url.')
  }
  return readDatabaseURL(environment[first]!, first)
}
