import { StorageError } from '../index.js'
import { concealed } from './database-url.js'
import type { FoundDatabase } from './databases/find-database.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { WrongCall } from './wrong-call.js'

/** What an operator is told of a failure. */
export interface FailureReport {
  readonly exitCode: ExitCode
  readonly message: string
  readonly hints: readonly string[]
}

const CHECK_LOGIN = 'Check user and password; in a URL they are percent-encoded.'
const CHECK_RIGHTS = 'Use a role that has these rights; those of the owner, for migrate.'

/** What to do about what a system or a database answered, by its code, or else by the name of the error. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there: is the server running, and are host and port right?',
  ENOTFOUND: 'No host has this name: is it spelled right, and can it be resolved from here?',
  EAI_AGAIN: 'The name of the host could not be looked up just now: does the network work?',
  ETIMEDOUT: 'The host does not answer: is a firewall in between?',
  EHOSTUNREACH: 'There is no way to the host from here.',
  ECONNRESET:
    'The other side ended the connection: does it speak the protocol of this database, with TLS or without?',
  '28000': 'Check the user, and what the server allows it from here (pg_hba.conf).',
  '28P01': CHECK_LOGIN,
  '3D000': 'Check the last part of the URL, or create the database.',
  '42501': CHECK_RIGHTS,
  // Of MongoDB, whose codes are numbers.
  '13': CHECK_RIGHTS,
  '18': `${CHECK_LOGIN} If the user is defined in another database, add ?authSource=admin.`,
  '8000': CHECK_LOGIN,
  MongoServerSelectionError:
    'No server took the call in time: are hosts and port right, and replicaSet and TLS, where the URL names them?',
}

/** A failure in words for whoever runs the command: never with a password, whatever a driver says. */
export function reportOf(error: unknown, database: FoundDatabase | null): FailureReport {
  const conceal = (text: string) =>
    concealed(database ? database.url.conceal(text) : text, [process.env['PGPASSWORD'] ?? ''])

  if (error instanceof WrongCall) {
    return { exitCode: EXIT.wrongCall, message: conceal(error.message), hints: error.hints }
  }
  if (error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE') {
    const causes = causesOf(error.cause)
    const hints = [
      ...(database ? [`Database: ${database.shown}`] : []),
      ...causes.map(({ message }) => `It said: ${conceal(message)}`),
      ...adviceFor(error, causes),
    ]
    return { exitCode: EXIT.unreachable, message: error.message, hints }
  }
  if (error instanceof StorageError && error.status < 500) {
    return { exitCode: EXIT.wrongCall, message: conceal(error.message), hints: [] }
  }
  const said = causesOf(error).map(({ message, code }) => (code === null ? message : `${message} (${code})`))
  return { exitCode: EXIT.failed, message: 'Something unexpected went wrong.', hints: said.map(conceal) }
}

function adviceFor(error: StorageError, causes: readonly Cause[]): readonly string[] {
  // The library names the method; the command line has a command for it.
  if (/run migrate\(\)\.$/i.test(error.message)) return ['Run: svc-db migrate']
  const byCode = new Set(causes.flatMap(({ code }) => (code === null ? [] : (ADVICE[code] ?? []))))
  return byCode.size > 0 ? [...byCode] : causes.flatMap(({ name }) => ADVICE[name] ?? []).slice(0, 1)
}

interface Cause {
  readonly name: string
  readonly message: string
  readonly code: string | null
}

/** The errors behind an error; one that stands for several attempts (each address of a host) says nothing by itself. */
function causesOf(error: unknown): readonly Cause[] {
  if (!(error instanceof Error)) return []
  if (error instanceof AggregateError) return error.errors.flatMap(causesOf)
  const { code } = error as { code?: unknown }
  const isCode = typeof code === 'string' || typeof code === 'number'
  const own = { name: error.name, message: error.message, code: isCode ? String(code) : null }
  const deeper = own.code === null ? causesOf(error.cause) : []
  return [own, ...deeper]
}
