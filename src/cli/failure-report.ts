import { NO_LOGIN, NO_PRIVILEGE } from '../adapters/mongo/connection/failure-table.js'
import { StorageError } from '../index.js'
import { redacted } from './databases/database-url.js'
import type { FoundDatabase } from './databases/find-database.js'
import { EXIT, UsageError, type ExitCode } from './exit.js'
import { shellQuoted } from './format.js'

const CHECK_LOGIN = 'Check user and password. Special characters in the URL must be percent-encoded.'
const CHECK_RIGHTS = 'Use a role with these privileges. migrate needs those of the owner.'

/** Advice by error code of the system or the database, or by error name. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing is listening there. Check that the server is running, and check host and port.',
  ENOTFOUND: 'The host name does not resolve. Check its spelling and your DNS settings.',
  EAI_AGAIN: 'The DNS lookup failed temporarily. Check your network and try again.',
  ETIMEDOUT: 'The host does not respond. A firewall may block the connection.',
  EHOSTUNREACH: 'There is no network route to the host.',
  ECONNRESET:
    'The server closed the connection. Check that it is a server of this database, and whether it requires TLS.',
  '28000':
    'Check the user, and whether pg_hba.conf on the server allows it from this host, with TLS or without.',
  '28P01': CHECK_LOGIN,
  '3D000': 'Check the database name at the end of the URL, or create the database.',
  '42501': CHECK_RIGHTS,
  MongoServerSelectionError:
    'No server was available in time. Check hosts and ports, and replicaSet and TLS if the URL sets them.',
}

/** Advice by the message, for MongoDB, whose services have one code for many reasons. */
const ADVICE_BY_MESSAGE: Readonly<Record<string, string>> = {
  [NO_LOGIN]: `${CHECK_LOGIN} If the user is defined in another database, add ?authSource=admin.`,
  [NO_PRIVILEGE]: CHECK_RIGHTS,
}

/** Redacts the URL of the database and its passwords, which drivers may repeat in their messages. */
export function withoutSecrets(text: string, database: FoundDatabase | null): string {
  return redacted(database ? database.url.redact(text) : text, [process.env['PGPASSWORD'] ?? ''])
}

/** Describes a failure, without secrets. */
export function reportOf(error: unknown, database: FoundDatabase | null) {
  const redact = (text: string) => withoutSecrets(text, database)
  const report = (exitCode: ExitCode, message: string, hints: readonly string[]) => ({
    exitCode,
    message: redact(message),
    hints,
  })

  if (error instanceof UsageError) return report(EXIT.usage, error.message, error.hints)
  if (error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE') {
    const causes = causesOf(error.cause)
    const hints = [
      ...(database ? [`Database: ${database.shown}`] : []),
      // Drivers wrap an error in others with the same message.
      ...new Set(causes.map(({ message }) => `Cause: ${redact(message)}`)),
      ...adviceFor(error, causes, database),
    ]
    return report(error.retryable ? EXIT.unreachable : EXIT.unusable, error.message, hints)
  }
  if (error instanceof StorageError && error.code === 'STORAGE_UNAVAILABLE') {
    const causes = causesOf(error.cause)
    const isRefused = causes.some(({ isRefusal }) => isRefusal)
    const hints = causes.slice(0, 1).map(({ message }) => `Cause: ${redact(message)}`)
    return report(isRefused || !error.retryable ? EXIT.unusable : EXIT.unreachable, error.message, hints)
  }
  if (error instanceof StorageError && error.status < 500) return report(EXIT.usage, error.message, [])
  const hints = causesOf(error).map(({ message, code }) => (code === null ? message : `${message} (${code})`))
  return report(EXIT.failed, 'Unexpected error.', hints.map(redact))
}

function adviceFor(
  error: StorageError,
  causes: readonly Cause[],
  database: FoundDatabase | null,
): readonly string[] {
  // The library names the method; the command line has a command for it.
  if (/run migrate\(\)\.$/i.test(error.message)) return [`Run: svc-db migrate${optionOf(database)}`]
  const byMessage = ADVICE_BY_MESSAGE[error.message]
  if (byMessage !== undefined) return [byMessage]
  const byCode = new Set(causes.flatMap(({ code }) => (code === null ? [] : (ADVICE[code] ?? []))))
  return byCode.size > 0 ? [...byCode] : causes.flatMap(({ name }) => ADVICE[name] ?? []).slice(0, 1)
}

/** Returns the option that selects the tables, if one was given. */
function optionOf(database: FoundDatabase | null): string {
  if (!database || database.namespace === null) return ''
  return ` --${database.kind.namespaceOption} ${shellQuoted(database.namespace)}`
}

/** Statuses of S3 that the same request gets again. */
const REFUSALS: readonly (number | undefined)[] = [301, 307, 400, 401, 403, 404]

interface Cause {
  readonly name: string
  readonly message: string
  readonly code: string | null
  /** The bucket doesn't exist or doesn't accept the credentials, or there are none. */
  readonly isRefusal: boolean
}

/** Returns an error and its causes. An `AggregateError`, one error per address of a host, is replaced by its errors. */
export function causesOf(error: unknown): readonly Cause[] {
  if (!(error instanceof Error)) return []
  if (error instanceof AggregateError) return error.errors.flatMap(causesOf)
  const { code, $metadata } = error as {
    code?: unknown
    $metadata?: { readonly httpStatusCode?: number | undefined }
  }
  const isCode = typeof code === 'string' || typeof code === 'number'
  const own = {
    name: error.name,
    message: error.message,
    code: isCode ? String(code) : null,
    isRefusal: REFUSALS.includes($metadata?.httpStatusCode) || error.name === 'CredentialsProviderError',
  }
  const deeper = own.code === null ? causesOf(error.cause) : []
  return [own, ...deeper]
}
