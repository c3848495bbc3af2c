import { StorageError } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { describe, expect, it } from 'vitest'

/** An error of the server or of a pooler, as the protocol carries it. */
interface Reported {
  readonly code: string
  readonly severity: 'ERROR' | 'FATAL' | 'PANIC'
  readonly message?: string
}

const LOST = 'The connection to the database was lost.'
const REFUSED = 'The database, or a pooler in front of it, ended or refused the connection.'
const ENDED = 'The database ended the connection.'
const NOT_YET = 'The database accepts no connections yet'
const EXHAUSTED = 'The database has run out of connections'
const NO_LOGIN = 'The database rejected the login.'
const NO_DATABASE = 'The database does not exist.'
const NO_CONFIGURATION = 'PgBouncer has no complete configuration for this database. See its log.'
const CANCELED = 'The database canceled the statement.'
const SETTING = 'The database refused a setting of the connection'

const retried = { retryable: true, calls: 2 }
const passing = { retryable: true, calls: 1 }
const lasting = { retryable: false, calls: 1 }

type Row = readonly [string, Reported, string, { readonly retryable: boolean; readonly calls: number }]

/** What servers, poolers and proxies send: who and why, the error, the message, and what the adapter does about it. */
const REPORTED: readonly Row[] = [
  ['Supavisor, full', fatal('XX000', 'MaxClientsInSessionMode: max clients reached'), REFUSED, retried],
  [
    'Supavisor, full, later releases',
    fatal('XX000', '(EMAXCONN) max client connections reached'),
    REFUSED,
    retried,
  ],
  ['Neon, whose compute does not start', fatal('XX000', 'Control plane request failed'), REFUSED, retried],
  ['pgcat, without a server', fatal('58000', 'could not get connection from the pool'), REFUSED, retried],
  ['Odyssey, full', fatal('53300', 'too many connections'), EXHAUSTED, passing],
  ['RDS Proxy, whose database is away', fatal('08000', 'connection exception'), LOST, retried],
  ['RDS Proxy, without IAM', fatal('28000', 'IAM authentication failed'), NO_LOGIN, lasting],
  ['PgBouncer, full', fatal('08P01', 'no more connections allowed (max_client_conn)'), LOST, retried],
  ['PgBouncer, whose pool is full', fatal('08P01', 'query_wait_timeout'), LOST, retried],
  ['PgBouncer, after a crash', fatal('08P01', 'server conn crashed?'), LOST, retried],
  ['PgBouncer, without the user', fatal('08P01', 'no such user'), NO_LOGIN, lasting],
  ['PgBouncer, wrong password', fatal('08P01', 'password authentication failed'), NO_LOGIN, lasting],
  ['PgBouncer, wrong password with SCRAM', fatal('08P01', 'SASL authentication failed'), NO_LOGIN, lasting],
  [
    'PgBouncer, without the user, auth_type trust',
    fatal('08P01', '"trust" authentication failed'),
    NO_LOGIN,
    lasting,
  ],
  ['PgBouncer, without a line of hba', fatal('08P01', 'login rejected'), NO_LOGIN, lasting],
  [
    'PgBouncer, auth_type any, without the database',
    fatal('08P01', 'bouncer config error'),
    NO_CONFIGURATION,
    lasting,
  ],
  ['PgBouncer, without the database', fatal('08P01', 'no such database: files'), NO_DATABASE, lasting],
  [
    'PgBouncer, without TLS',
    fatal('08P01', 'SSL required'),
    'The database server, or a pooler in front of it, requires TLS.',
    lasting,
  ],
  ['a full server', fatal('53300', 'sorry, too many clients already'), EXHAUSTED, passing],
  ['a server that starts', fatal('57P03', 'the database system is starting up'), NOT_YET, passing],
  [
    'a standby that is not open',
    fatal('57P03', 'the database system is not accepting connections'),
    NOT_YET,
    passing,
  ],
  ['a server that shuts down', fatal('57P01', 'terminating connection'), ENDED, retried],
  ['a server that crashed', fatal('57P02', 'terminating connection'), ENDED, retried],
  ['an idle timeout', fatal('57P05', 'terminating connection'), ENDED, retried],
  ['a database that was dropped', fatal('57P04', 'terminating connection'), REFUSED, retried],
  ['a standby that recovers', fatal('40001', 'terminating connection due to conflict'), REFUSED, retried],
  ['a disk that is full at a commit', panic('53100', 'could not write to file'), EXHAUSTED, retried],
  ['a disk that failed', panic('58030', 'could not fsync file'), REFUSED, retried],
  ['a timeout of transactions', fatal('25P04', 'terminating connection'), CANCELED, retried],
  ['no entry in pg_hba.conf', fatal('28000', 'no pg_hba.conf entry, no encryption'), NO_LOGIN, lasting],
  ['a wrong password', fatal('28P01', 'password authentication failed'), NO_LOGIN, lasting],
  ['no such database', fatal('3D000', 'database "files" does not exist'), NO_DATABASE, lasting],
  [
    'no right to connect',
    fatal('42501', 'permission denied for database'),
    'The database role lacks a permission',
    lasting,
  ],
  ['an unknown setting', fatal('42704', 'unrecognized configuration parameter "foo"'), SETTING, lasting],
  ['an invalid setting', fatal('22023', 'invalid value for parameter'), SETTING, lasting],
  [
    'an old protocol',
    fatal('0A000', 'unsupported frontend protocol'),
    'The database refused the connection',
    lasting,
  ],

  ['a missing type', error('42704'), 'The database schema is missing', lasting],
  ['a missing right', error('42501'), 'The database role lacks a permission', lasting],
  ['a missing feature', error('0A000'), 'The database lacks a feature', lasting],
  [
    'a read-only server',
    error('25006'),
    '`pool` is connected to a read-only server: a standby, or one with default_transaction_read_only',
    passing,
  ],
  ['a full disk', error('53100'), EXHAUSTED, passing],
  ['a timeout', error('57014'), CANCELED, passing],
  ['a lock', error('55P03'), 'The database did not get a lock', passing],
  ['a file that is missing', error('58P01'), 'The operating system or disk', passing],
]

/** Errors that drivers and Node throw, without a server's report. */
const LOCAL: readonly (readonly [string, Error, string, Row[3]])[] = [
  ['no server', node('ECONNREFUSED', 'connect'), 'The database is unavailable.', retried],
  ['a socket that does not exist', node('ENOENT', 'connect'), 'The database is unavailable.', retried],
  ['a file that does not exist', node('ENOENT', 'open'), 'A file of the connection settings', lasting],
  ['a folder in place of a file', node('EISDIR', 'read'), 'A file of the connection settings', lasting],
  [
    'an own CA',
    node('SELF_SIGNED_CERT_IN_CHAIN'),
    'The certificate of the database server is not from a CA',
    lasting,
  ],
  [
    'an early certificate',
    node('CERT_NOT_YET_VALID'),
    'The certificate of the database server, or of its CA, has expired',
    lasting,
  ],
  ['an alert', node('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'The TLS handshake', lasting],
  ['a key that is no key', node('ERR_OSSL_PEM_NO_START_LINE'), 'The TLS handshake', lasting],
  [
    'no password',
    new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
    NO_LOGIN,
    lasting,
  ],
  [
    'a statement without a response',
    new Error('Query read timeout'),
    'The database is unavailable.',
    retried,
  ],
]

/** The drivers, as a pool whose calls reject with the error, and what each makes of a reported one. */
const DRIVERS = {
  pg: {
    reported: ({ code, severity, message }: Reported) =>
      Object.assign(new Error(message), { code, severity }),
    poolOf: (thrown: Error, count: () => void) => ({
      connect: () => Promise.reject(thrown),
      query() {
        count()
        return Promise.reject(thrown)
      },
    }),
  },
  'postgres.js': {
    // Poolers send only the field that postgres.js calls `severity_local`.
    reported: ({ code, severity, message }: Reported) =>
      Object.assign(new Error(message), { code, severity_local: severity }),
    poolOf: (thrown: Error, count: () => void) => ({
      typed: (value: unknown) => value,
      unsafe: () => ({
        raw() {
          count()
          return Promise.reject(thrown)
        },
      }),
    }),
  },
}

describe.each(Object.entries(DRIVERS))('over %s, an error of', (_driver, { reported, poolOf }) => {
  const rows = [
    ...REPORTED.map(([what, sent, ...rest]) => [what, reported(sent), ...rest] as const),
    ...LOCAL,
  ]
  it.each(rows)('%s', async (_what, thrown, message, { retryable, calls }) => {
    let called = 0
    const store = postgresAdapter(poolOf(thrown, () => called++))
    const failure: unknown = await store.getScopeUsage('ann').catch((reason: unknown) => reason)
    expect(failure).toBeInstanceOf(StorageError)
    expect(failure).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining(message) as string,
      cause: thrown,
      retryable,
    })
    expect(called).toBe(calls)
  })

  it('a statement, which has no other meaning, is passed on unchanged', async () => {
    const thrown = reported(error('XX000'))
    const store = postgresAdapter(poolOf(thrown, () => {}))
    await expect(store.getScopeUsage('ann')).rejects.toBe(thrown)
  })
})

function fatal(code: string, message: string): Reported {
  return { code, message, severity: 'FATAL' }
}

function panic(code: string, message: string): Reported {
  return { code, message, severity: 'PANIC' }
}

function error(code: string): Reported {
  return { code, severity: 'ERROR' }
}

function node(code: string, syscall?: string): Error {
  return Object.assign(new Error(code), { code, syscall })
}
