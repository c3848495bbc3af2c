import type { TlsProblem } from '../../shared/tls-problem.js'

/** What an error of the server, the driver or Node means to the operator and to the adapter. */
export interface Failure {
  /** Default: the message of the error code. */
  readonly message?: string
  /** Whether the same call may succeed later, before an operator acts. */
  readonly retryable: boolean
  /** Where the adapter tries again by itself, until the call's deadline. */
  readonly repeats: 'everywhere' | 'in transactions' | 'nowhere'
  /** Whether a commit that fails with it may have taken effect. */
  readonly leavesCommitUnknown: boolean
}

/** The connection broke, the member is not the primary or shuts down, or a router didn't reach one. */
export const LOST: Failure = { retryable: true, repeats: 'everywhere', leavesCommitUnknown: true }

/** The server undid the transaction, or refused the command, for a reason that passes. */
export const UNDONE: Failure = { retryable: true, repeats: 'everywhere', leavesCommitUnknown: false }

const OVERLOADED: Failure = { ...UNDONE, message: 'MongoDB refused the operation because it is overloaded.' }

/** A transaction takes milliseconds, so an operator who ends a slow operation doesn't mean one of these. */
const ENDED: Failure = {
  message: 'An operator, or MongoDB itself, ended the operation.',
  retryable: true,
  repeats: 'in transactions',
  leavesCommitUnknown: true,
}

const passing = (message?: string): Failure => ({
  ...(message !== undefined && { message }),
  retryable: true,
  repeats: 'nowhere',
  leavesCommitUnknown: false,
})

/** Of a failure that lasts until an operator acts, so that retrying does not help. */
const lasting = (message: string): Failure => ({ ...passing(message), retryable: false })

export const NOT_MIGRATED =
  'The collections of the adapter are missing, or are not the ones that this version needs: run migrate().'
export const NO_LOGIN = 'MongoDB rejected the login.'
export const NO_PRIVILEGE = 'The MongoDB user lacks a privilege that the adapter needs.'
const NO_FEATURE = 'MongoDB, or the product in its place, lacks a feature that the adapter needs.'
const FULL = 'MongoDB has run out of disk space, memory or files.'

export const STANDALONE = lasting(
  'MongoDB must be a replica set (one member is enough): a standalone server has no transactions.',
)

export const WRITE_CONFLICT = 112
export const DUPLICATE_KEY = 11000
export const NO_SUCH_TRANSACTION = 251
export const TIME_LIMIT_EXCEEDED = 50

const byCode = (codes: readonly number[], failure: Failure) =>
  Object.fromEntries(codes.map((code) => [code, failure]))

/** By the server's error code. */
export const SERVER_FAILURES: Readonly<Record<number, Failure>> = {
  // Between members, or between a router and a shard. 211: a member has no key yet to sign the cluster's time with.
  ...byCode([6, 7, 89, 145, 202, 211, 279, 317, 384, 407, 9001], LOST),
  // Not the primary, no primary, or an election.
  ...byCode([94, 133, 189, 216, 262, 281, 10058, 10107, 11602, 13435, 13436], LOST),
  // Shutting down, or closing connections.
  ...byCode([90, 91, 303, 333, 372, 398, 11600], LOST),
  // Lost against another operation, a lock or a time limit of transactions.
  ...byCode([24, WRITE_CONFLICT, 117, 134, 215, 239, 246, NO_SUCH_TRANSACTION, 267, 282, 285, 363], UNDONE),
  // The collection was sharded, or its chunks moved, after the router looked where they are or after the moment to read.
  ...byCode([63, 150, 249, 250, 272, 304, 319, 343, 413, 13388], UNDONE),
  // Two transactions created the same document. A driver of OIDC logs in again.
  ...byCode([DUPLICATE_KEY, 391], UNDONE),
  // 16500 is what Azure sends.
  ...byCode([365, 402, 406, 412, 433, 449, 450, 462, 16500], OVERLOADED),
  // The server gives this error no label, and may report it for a commit.
  290: LOST,
  ...byCode([237, 355, 11601, 46841], ENDED),
  [TIME_LIMIT_EXCEEDED]: {
    ...passing('MongoDB cancelled the operation because it exceeded its time limit.'),
    leavesCommitUnknown: true,
  },
  ...byCode([64, 75], { ...passing(), leavesCommitUnknown: true }),
  ...byCode([79, 100], passing('The replica set has too few members with data for a majority.')),
  ...byCode([146, 208, 261, 264, 14031], passing(FULL)),
  371: passing('MongoDB refuses writes of users at the moment.'),

  13: lasting(NO_PRIVILEGE),
  ...byCode([11, 18, 214, 334, 392], lasting(NO_LOGIN)),
  26: lasting(NOT_MIGRATED),
  123: STANDALONE,
  121: lasting(
    'A validator that the adapter did not create refused a document. Drop the validator: verify() names its collection.',
  ),
  ...byCode([59, 115, 148, 224, 235, 238, 263, 352], lasting(NO_FEATURE)),
  ...byCode(
    [322, 323, 324],
    lasting("The client's serverApi refuses a command that the adapter needs: see the cause."),
  ),
}

/** Of a duplicate value that is not an `_id`. The adapter creates no unique index. */
export const FOREIGN_INDEX = lasting(
  'A unique index that the adapter did not create refused a document. Drop the index: verify() names it.',
)

const BAD_SETTINGS = "The settings of the MongoDB client can't be used: see the cause."
const LOGIN_FAILED = 'The MongoDB client could not log in: see the cause.'

/** Names of errors after which the application's client is closed for good. */
export const CLIENT_CLOSED: ReadonlySet<string> = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
])

const byName = (names: Iterable<string>, failure: Failure) =>
  Object.fromEntries([...names].map((name) => [name, failure]))

/** By the name of a driver's error: the application may load another copy of the driver, with other classes. */
export const DRIVER_FAILURES: Readonly<Record<string, Failure>> = {
  // The driver reconnects by itself.
  ...byName(
    [
      ...['MongoNetworkError', 'MongoNetworkTimeoutError', 'MongoServerClosedError', 'MongoPoolClosedError'],
      ...['MongoPoolClearedError', 'PoolClearedOnNetworkError', 'MongoStalePrimaryError'],
      ...['MongoUnexpectedServerResponseError', 'MongoDecompressionError', 'AbortError'],
    ],
    LOST,
  ),
  // A time limit of the application's own has passed.
  ...byName(
    [
      'MongoServerSelectionError',
      'MongoSystemError',
      'MongoWaitQueueTimeoutError',
      'MongoOperationTimeoutError',
    ],
    { ...passing(), leavesCommitUnknown: true },
  ),
  ...byName(CLIENT_CLOSED, { ...passing(), leavesCommitUnknown: true }),
  ...byName(
    ['MongoAWSError', 'MongoAzureError', 'MongoGCPError', 'MongoKerberosError', 'MongoOIDCError'],
    passing(LOGIN_FAILED),
  ),
  ...byName(
    ['MongoMissingCredentialsError', 'MongoMissingDependencyError', 'MongoParseError'],
    lasting(BAD_SETTINGS),
  ),
  MongoCompatibilityError: lasting(
    'The MongoDB driver and the server do not support each other: see the cause.',
  ),
}

/** By what Node says about TLS. */
export const TLS_FAILURES: Readonly<Record<TlsProblem, Failure>> = {
  untrusted: lasting(
    'The certificate of MongoDB is not from a CA that this process trusts. Pass the certificate of that CA as tlsCAFile.',
  ),
  outdated: lasting(
    'The certificate of MongoDB, or of its CA, has expired or is not valid yet. Renew it, or correct the clock.',
  ),
  'other host': lasting(
    'The certificate of MongoDB is for another host name. Connect to a name that it contains.',
  ),
  handshake: lasting(
    'The TLS handshake with MongoDB failed. Check whether the server accepts TLS, and the certificates of both sides.',
  ),
}

export const UNREADABLE_FILE = lasting(
  "A file of the MongoDB client's settings, such as tlsCAFile, can't be read. Check its path and permissions.",
)

/** By the text, for codes that stand for many reasons. `null` is the code of an error that only the driver makes. */
export const FAILURES_BY_TEXT: readonly {
  readonly code: number | null
  readonly text: RegExp
  readonly failure: Failure
}[] = [
  { code: 2, text: /\bhint\b/i, failure: lasting(NOT_MIGRATED) },
  { code: 20, text: /replica set|retryWrites/i, failure: STANDALONE },
  { code: null, text: /retryWrites=false/, failure: STANDALONE },
  // Everything that Atlas refuses.
  { code: 8000, text: /^bad auth|authentication failed/i, failure: lasting(NO_LOGIN) },
  { code: 8000, text: /not authorized|user is not allowed/i, failure: lasting(NO_PRIVILEGE) },
  {
    code: 8000,
    text: /space quota/i,
    failure: passing('The Atlas cluster has no space left: see the cause.'),
  },
  {
    code: 8000,
    text: /already using \d+ collections/i,
    failure: lasting('The Atlas cluster has as many collections as its tier allows: see the cause.'),
  },
  {
    code: 8000,
    text: /not.(?:allowed|supported)|disallowed/i,
    failure: lasting('Atlas refused the operation, which its tier lacks: see the cause.'),
  },
  // Such as a limit on a rate, which passes.
  { code: 8000, text: /./, failure: passing('Atlas refused the operation: see the cause.') },
]
