import type { TlsProblem } from '../../shared/tls-problem.js'

/** How far a statement came before its call failed. */
export type Phase =
  /** It was not sent: there is no connection, because settings are wrong or the server refused the login. */
  | 'connect'
  /** The server reported an error and rolled the statement back. */
  | 'statement'
  /** The connection ended. Whether the statement took effect is unknown. */
  | 'lost'

/** What an error of a driver means to the operator and to the adapter. */
export interface Failure {
  /** Default: the message of the error code. */
  readonly message?: string
  /** Whether the same call may succeed later, before an operator acts. */
  readonly retryable: boolean
  readonly phase: Phase
}

type Failures = Readonly<Record<string, Failure>>

const passing = (phase: Phase, message?: string): Failure => ({
  ...(message !== undefined && { message }),
  retryable: true,
  phase,
})
/** Of a failure that lasts until an operator acts, so that retrying does not help. */
const lasting = (phase: Phase, message: string): Failure => ({ message, retryable: false, phase })

export const NOT_MIGRATED =
  'The database schema is missing, renamed or older than this release needs. Run migrate().'
const CANCELED = 'The database canceled the statement.'
const EXHAUSTED = 'The database has run out of connections, disk space or memory.'
const NO_LOGIN = 'The database rejected the login.'
const NO_DATABASE = 'The database does not exist.'
const NO_PERMISSION = 'The database role lacks a permission that the adapter needs.'
const ENDED_SESSION = 'The database ended the connection.'

/** The connection broke, or there was none, and no server says why. */
export const NO_RESPONSE = passing('lost')

/** A server or a pooler ended the connection or refused it, for a reason that no code of {@link CONNECTION_FAILURES} names. */
export const CONNECTION_REFUSED = passing(
  'lost',
  'The database, or a pooler in front of it, ended or refused the connection.',
)

/** By SQLSTATE or by its class, which is the first two characters: the server has ended the connection or refused it. */
export const CONNECTION_FAILURES: Failures = {
  '08': passing('lost', 'The connection to the database was lost.'),
  // idle_in_transaction_session_timeout, and transaction_timeout of Postgres 17.
  '25P03': passing('lost', CANCELED),
  '25P04': passing('lost', CANCELED),
  '28': lasting('connect', NO_LOGIN),
  '3D': lasting('connect', NO_DATABASE),
  '53300': passing('connect', EXHAUSTED),
  '57P01': passing('lost', ENDED_SESSION),
  '57P02': passing('lost', ENDED_SESSION),
  '57P03': passing(
    'connect',
    'The database accepts no connections yet: it is starting up, shutting down or recovering.',
  ),
  '57P05': passing('lost', ENDED_SESSION),
}

/** The same for codes that mean something else where they fail a statement. */
export const FATAL_FAILURES: Failures = {
  '0A': lasting('connect', 'The database refused the connection, because it lacks a feature.'),
  '22': lasting('connect', 'The database refused a setting of the connection, such as one in `options`.'),
  '42': lasting('connect', 'The database refused a setting of the connection, such as one in `options`.'),
  '42501': lasting('connect', NO_PERMISSION),
  '53': passing('lost', EXHAUSTED),
}

/** By SQLSTATE or by its class: the server has rolled the statement back. */
export const STATEMENT_FAILURES: Failures = {
  '0A': lasting('statement', 'The database lacks a feature that the adapter needs.'),
  '23503': lasting(
    'statement',
    // The tables of the adapter have no foreign keys.
    'A foreign key of the application refers to a row that the call would delete. Drop the key: see docs/your-orm.md#foreign-keys.',
  ),
  '25001': lasting(
    'statement',
    'Writes of the adapter need the isolation level READ COMMITTED. Check the transaction that you opened, or default_transaction_isolation.',
  ),
  '25006': passing(
    'statement',
    '`pool` is connected to a read-only server: a standby, or one with default_transaction_read_only on. Writes need the primary.',
  ),
  '25P02': passing(
    'statement',
    'The transaction of this connection has failed. Call ROLLBACK before the next call.',
  ),
  '26': passing(
    'statement',
    'A prepared statement no longer exists. Behind a pooler that does not track them, set namedStatements: false.',
  ),
  '3F': lasting('statement', NOT_MIGRATED),
  '40': passing('statement', 'The transaction conflicted with concurrent ones and was rolled back.'),
  '42501': lasting('statement', NO_PERMISSION),
  '42703': lasting('statement', NOT_MIGRATED),
  '42704': lasting('statement', NOT_MIGRATED),
  '42883': lasting('statement', NOT_MIGRATED),
  '42P01': lasting('statement', NOT_MIGRATED),
  '42P05': passing(
    'statement',
    'A prepared statement already exists. Behind a pooler that shares connections, set namedStatements: false.',
  ),
  '53': passing('statement', EXHAUSTED),
  '55000': passing(
    'statement',
    'The database refused the call in its present state, such as one that accepts no connections.',
  ),
  '55P03': passing('statement', 'The database did not get a lock within its timeout.'),
  '57': passing('statement', CANCELED),
  '58': passing('statement', 'The operating system or disk of the database server failed.'),
  // Raised by the SQL of migrate().
  SD001: lasting('statement', 'CockroachDB is not supported because its advisory locks have no effect.'),
  SD002: lasting('statement', 'The database must have the encoding UTF8.'),
}

/** By what Node says about TLS. */
export const TLS_FAILURES: Readonly<Record<TlsProblem, Failure>> = {
  untrusted: lasting(
    'connect',
    'The certificate of the database server is not from a CA that this process trusts. Pass the certificate of that CA: see docs/postgres.md#tls.',
  ),
  outdated: lasting(
    'connect',
    'The certificate of the database server, or of its CA, has expired or is not valid yet. Renew it, or correct the clock: see docs/postgres.md#tls.',
  ),
  'other host': lasting(
    'connect',
    'The certificate of the database server is for another host name. Connect to a name that it contains: see docs/postgres.md#tls.',
  ),
  handshake: lasting(
    'connect',
    'The TLS handshake with the database server failed. Check certificate, key and TLS version: see docs/postgres.md#tls.',
  ),
}

export const UNREADABLE_FILE = lasting(
  'connect',
  "A file of the connection settings, such as sslrootcert, can't be read. Check its path and permissions: see docs/postgres.md#tls.",
)

/** By the start of the message, for failures without a code of their own. */
export const FAILURES_BY_TEXT: readonly {
  /** The SQLSTATE. Default: none, because a driver or Node throws the error. */
  readonly state?: string
  readonly text: RegExp
  readonly failure: Failure
}[] = [
  {
    text: /^Prepared statements must be unique/,
    failure: lasting(
      'connect',
      'Something changes the text of each statement, such as a comment with a trace id. Set namedStatements: false.',
    ),
  },
  // pg has no password for a server that asks for one.
  { text: /^SASL: /, failure: lasting('connect', NO_LOGIN) },
  {
    text: /^The server does not support SSL/,
    failure: lasting(
      'connect',
      'The database server does not accept TLS. Turn it on there, or turn it off here: see docs/postgres.md#tls.',
    ),
  },
  {
    text: /^SECURITY WARNING: Using sslmode=/,
    failure: lasting('connect', 'The TLS settings contradict each other: see docs/postgres.md#tls.'),
  },
  {
    // postgres.js does not look at the server's answer, so Node finds out.
    text: /before secure TLS connection was established/,
    failure: passing(
      'connect',
      'The connection ended during the TLS handshake. Check that the server accepts TLS: see docs/postgres.md#tls.',
    ),
  },
  // PgBouncer has one code for most of its refusals.
  {
    state: '08P01',
    text: /unsupported startup parameter/,
    failure: lasting(
      'connect',
      'PgBouncer refused a startup parameter, such as statement_timeout. Set it on the role instead: see docs/postgres.md#pgbouncer.',
    ),
  },
  {
    state: '08P01',
    text: /^(?:no such user|not allowed|login rejected|auth failed|(?:"?\w+"? )?authentication failed)/,
    failure: lasting('connect', NO_LOGIN),
  },
  { state: '08P01', text: /^no such database/, failure: lasting('connect', NO_DATABASE) },
  {
    state: '08P01',
    text: /^bouncer config error/,
    failure: lasting('connect', 'PgBouncer has no complete configuration for this database. See its log.'),
  },
  {
    state: '08P01',
    text: /^SSL required/,
    failure: lasting(
      'connect',
      'The database server, or a pooler in front of it, requires TLS. Turn it on: see docs/postgres.md#tls.',
    ),
  },
]
