import { printable } from '../output/printable.js'
import { readDatabaseURL, type DatabaseURL } from '../database-url.js'
import { WrongCall } from '../wrong-call.js'
import type { DatabaseKind } from './database-kind.js'
import { MONGO } from './mongo.js'
import { POSTGRES } from './postgres.js'

/** Every database that the command knows. */
const KINDS: readonly DatabaseKind[] = [POSTGRES, MONGO]

export interface DatabaseOptions {
  readonly url?: string | undefined
  readonly schema?: string | undefined
  readonly prefix?: string | undefined
}

/** The database that a call is about. */
export interface FoundDatabase {
  readonly kind: DatabaseKind
  readonly url: DatabaseURL
  /** `null`: the adapter's default. */
  readonly place: string | null
  /** Where it is, for a reader: without password and parameters. */
  readonly shown: string
}

/** @throws WrongCall where none is named, or more than one, or one that isn't known. */
export function findDatabase(
  options: DatabaseOptions,
  environment: Readonly<Record<string, string | undefined>>,
): FoundDatabase {
  const url =
    options.url === undefined ? urlOfEnvironment(environment) : readDatabaseURL(options.url, 'The --url')
  const kind = KINDS.find(({ protocols }) => protocols.includes(url.protocol))
  if (!kind) {
    const known = KINDS.flatMap(({ protocols }) => protocols).map((protocol) => `${protocol}//`)
    throw new WrongCall(
      `${url.protocol}// names no database that is known here, which are ${known.join(', ')}.`,
    )
  }
  for (const other of ['schema', 'prefix'] as const) {
    if (options[other] !== undefined && kind.placeOption !== other) {
      throw new WrongCall(`--${other} is nothing that ${kind.name} has: use --${kind.placeOption}.`)
    }
  }
  const place = options[kind.placeOption] ?? null
  const shown = place === null ? url.shown : `${url.shown} (${kind.placeOption} ${printable(place)})`
  return { kind, url, place, shown }
}

function urlOfEnvironment(environment: Readonly<Record<string, string | undefined>>): DatabaseURL {
  const named = KINDS.map(({ variable }) => variable)
  const [first, second] = named.filter((variable) => environment[variable])
  if (first === undefined) {
    throw new WrongCall(
      'No database is named.',
      `Set ${named.join(' or ')}, or give --url (which others on the machine can read in the list of processes).`,
    )
  }
  if (second !== undefined) {
    throw new WrongCall(
      `${first} and ${second} are both set.`,
      'Unset the one that is not meant, or give --url.',
    )
  }
  return readDatabaseURL(environment[first]!, first)
}
