import { StorageError } from '@svc/db'
import { mongoAdapter, type MongoDatabase } from '@svc/db/mongo'
import * as driver from 'mongodb'
import { describe, expect, it } from 'vitest'

/** What the adapter does about an error, and what the caller and the operator get if it does not go away. */
interface Meaning {
  /** After a read, a write before its commit, and a commit. */
  readonly read: 'repeats' | 'fails'
  readonly write: 'repeats' | 'fails'
  /** A commit whose outcome is unknown is sent again. */
  readonly commit: 'commits again' | 'repeats' | 'fails'
  readonly retryable: boolean
  readonly message: string
}

const DEFAULT = 'The database is unavailable.'
const LOST: Meaning = {
  read: 'repeats',
  write: 'repeats',
  commit: 'commits again',
  retryable: true,
  message: DEFAULT,
}
const UNDONE: Meaning = { ...LOST, commit: 'repeats' }
const PASSING: Meaning = { read: 'fails', write: 'fails', commit: 'fails', retryable: true, message: DEFAULT }
const UNKNOWN: Meaning = { ...PASSING, commit: 'commits again' }
const lasting = (message: string): Meaning => ({ ...PASSING, retryable: false, message })
const ENDED: Meaning = {
  ...LOST,
  read: 'fails',
  message: 'An operator, or MongoDB itself, ended the operation.',
}
const OVERLOADED: Meaning = { ...UNDONE, message: 'MongoDB refused the operation because it is overloaded.' }
const FULL: Meaning = { ...PASSING, message: 'MongoDB has run out of disk space, memory or files.' }
const NO_LOGIN = lasting('MongoDB rejected the login.')
const NO_PRIVILEGE = lasting('The MongoDB user lacks a privilege that the adapter needs.')
const NOT_MIGRATED = lasting('The collections of the adapter are missing, or are not the ones')
const STANDALONE = lasting('MongoDB must be a replica set (one member is enough)')
const NO_FEATURE = lasting('MongoDB, or the product in its place, lacks a feature')

/** By the categories of the server's own list of error codes, from 5.0 to 8.2, without codes that never leave a server. */
const BY_CODE: readonly (readonly [category: string, codes: readonly number[], Meaning])[] = [
  ['NetworkError', [6, 7, 89, 317, 384, 9001], LOST],
  ['NetworkTimeoutError', [202], LOST],
  ['NotPrimaryError', [189, 10058, 10107, 11602, 13435, 13436], LOST],
  ['ShutdownError', [91, 333, 11600], LOST],
  ['CloseConnectionError', [303, 372, 398], LOST],
  ['Interruption of a client that is gone, or of a coordinator', [279, 281], LOST],
  ['Interruption by a time limit of transactions', [290], LOST],
  ['Interruption by an operator', [237, 355, 11601, 46841], ENDED],
  ['Interruption by a lock or a coordinator', [24, 282], UNDONE],
  [
    'Interruption by a time limit of the operation',
    [50],
    { ...UNKNOWN, message: 'MongoDB cancelled the operation because it exceeded its time limit.' },
  ],
  ['RetriableError: a time limit between servers', [262], LOST],
  ['RetriableError: no majority known yet', [134], UNDONE],
  ['RetriableError of an overloaded server', [402, 406, 412], OVERLOADED],
  ['SystemOverloadedError', [433, 449, 450, 462], OVERLOADED],
  ['no key for the cluster time yet', [211], LOST],
  ['a router without a primary', [133], LOST],
  ['SnapshotError', [239, 246, 250, 272], UNDONE],
  ['NeedRetargettingError', [63, 150, 249, 304, 13388], UNDONE],
  ['a lost race', [112, 267, 363], UNDONE],
  ['a temporary state', [365, 16500], OVERLOADED],
  ['a login that has expired', [391], UNDONE],
  ['WriteConcernError', [64, 75], UNKNOWN],
  [
    'WriteConcernError of a set that is too small',
    [79, 100],
    { ...PASSING, message: 'The replica set has too few members with data for a majority.' },
  ],
  ['a full disk or memory', [146, 208, 261, 264, 14031], FULL],
  ['a login', [11, 18, 214, 334, 392], NO_LOGIN],
  ['a privilege', [13], NO_PRIVILEGE],
  ['a missing collection', [26], NOT_MIGRATED],
  ['a standalone server', [123], STANDALONE],
  ['a validator', [121], lasting('A validator that the adapter did not create refused a document.')],
  ['a missing feature', [59, 115, 148, 224, 235, 238, 263, 352], NO_FEATURE],
  ['serverApi', [322, 323, 324], lasting("The client's serverApi refuses a command")],
]

/** Codes that stand for many reasons. Those of Atlas are in test/integration/mongo/atlas.test.ts. */
const BY_TEXT: readonly (readonly [what: string, Error, Meaning])[] = [
  [
    'a hint',
    server(2, 'error processing query: planner returned error :: caused by :: bad hint'),
    NOT_MIGRATED,
  ],
  [
    'transactions',
    server(20, 'Transaction numbers are only allowed on a replica set member or mongos'),
    STANDALONE,
  ],
  [
    'retryable writes, which the driver reports',
    new driver.MongoServerError({
      message: 'This MongoDB deployment does not support retryable writes. Please add retryWrites=false.',
    }),
    STANDALONE,
  ],
  [
    'a duplicate in an index of others',
    Object.assign(
      server(11000, 'E11000 duplicate key error collection: a.b index: scope_1 dup key: { scope: "x" }'),
      {
        keyPattern: { scope: 1 },
      },
    ),
    lasting('A unique index that the adapter did not create refused a document.'),
  ],
  [
    'a duplicate, from a server that names only the index',
    server(11000, 'E11000 duplicate key error collection: a.b index: scope_1 dup key: { scope: "x" }'),
    lasting('A unique index that the adapter did not create refused a document.'),
  ],
  [
    'two transactions that create a document',
    Object.assign(
      server(11000, 'E11000 duplicate key error collection: a.b index: _id_ dup key: { _id: "x" }'),
      {
        keyPattern: { _id: 1 },
      },
    ),
    UNDONE,
  ],
  ['a label', labelled(99_999, 'TransientTransactionError'), UNDONE],
  ['a label of writes', labelled(99_999, 'RetryableWriteError'), UNDONE],
  ['a label of commits', labelled(99_999, 'UnknownTransactionCommitResult'), LOST],
  ['a label of overload', labelled(99_999, 'SystemOverloadedError'), UNDONE],
]

const UNTRUSTED = lasting('The certificate of MongoDB is not from a CA that this process trusts.')

/** Errors of Node that the driver passes on, or that caused one of its own. */
const OF_NODE: readonly (readonly [what: string, Error, Meaning])[] = [
  ...['EPIPE', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETDOWN', 'ECONNREFUSED'].map(
    (code) => [code, node(code, 'write'), LOST] as const,
  ),
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED'].map(
    (code) => [code, node(code), LOST] as const,
  ),
  ['a name that does not resolve', node('ENOTFOUND', 'getaddrinfo'), LOST],
  ['a lookup that times out', node('ETIMEOUT', 'querySrv'), LOST],
  ['a missing file', node('ENOENT', 'open'), lasting("A file of the MongoDB client's settings")],
  ['an own CA', caused(node('SELF_SIGNED_CERT_IN_CHAIN')), UNTRUSTED],
  [
    'an expired certificate',
    caused(node('CERT_HAS_EXPIRED')),
    lasting('The certificate of MongoDB, or of its CA, has expired'),
  ],
  [
    'a certificate for another host',
    caused(node('ERR_TLS_CERT_ALTNAME_INVALID')),
    lasting('The certificate of MongoDB is for another host name.'),
  ],
  ['another protocol', caused(node('EPROTO', 'write')), lasting('The TLS handshake with MongoDB failed.')],
]

const BAD_SETTINGS = lasting("The settings of the MongoDB client can't be used")
const LOGIN_FAILED: Meaning = { ...PASSING, message: 'The MongoDB client could not log in' }

/** Every class of errors that the driver exports. `null`: reported by its code, or only by what the adapter does not use. */
const OF_DRIVER: Readonly<Record<string, Meaning | null>> = {
  MongoNetworkError: LOST,
  MongoNetworkTimeoutError: LOST,
  MongoServerClosedError: LOST,
  MongoStalePrimaryError: LOST,
  MongoUnexpectedServerResponseError: LOST,
  MongoDecompressionError: LOST,
  MongoServerSelectionError: UNKNOWN,
  MongoSystemError: UNKNOWN,
  MongoOperationTimeoutError: UNKNOWN,
  MongoNotConnectedError: { ...PASSING },
  MongoTopologyClosedError: { ...PASSING },
  MongoClientClosedError: { ...PASSING },
  MongoExpiredSessionError: { ...PASSING },
  MongoAWSError: LOGIN_FAILED,
  MongoAzureError: LOGIN_FAILED,
  MongoGCPError: LOGIN_FAILED,
  MongoKerberosError: LOGIN_FAILED,
  MongoOIDCError: LOGIN_FAILED,
  MongoMissingCredentialsError: BAD_SETTINGS,
  MongoMissingDependencyError: BAD_SETTINGS,
  MongoParseError: BAD_SETTINGS,
  MongoCompatibilityError: lasting('The MongoDB driver and the server do not support each other'),
  ...Object.fromEntries(
    [
      ...['MongoError', 'MongoServerError', 'MongoDriverError', 'MongoAPIError', 'MongoRuntimeError'],
      ...['MongoWriteConcernError', 'MongoBulkWriteError', 'MongoBatchReExecutionError'],
      ...[
        'MongoClientBulkWriteError',
        'MongoClientBulkWriteCursorError',
        'MongoClientBulkWriteExecutionError',
      ],
      ...['MongoChangeStreamError', 'MongoTailableCursorError', 'MongoCursorInUseError'],
      ...['MongoCursorExhaustedError', 'MongoGridFSChunkError', 'MongoGridFSStreamError'],
      ...['MongoTransactionError', 'MongoInvalidArgumentError', 'MongoCryptError'],
      ...['MongoCryptInvalidArgumentError', 'MongoCryptCreateDataKeyError', 'MongoCryptAzureKMSRequestError'],
      ...['MongoCryptCreateEncryptedCollectionError', 'MongoCryptKMSRequestNetworkTimeoutError'],
    ].map((name) => [name, null]),
  ),
}

/** Errors of a pool of connections, whose classes the driver does not export. */
const OF_POOL = [
  ...['MongoPoolClosedError', 'MongoPoolClearedError', 'PoolClearedOnNetworkError', 'AbortError'].map(
    (name) => [name, named(name), LOST] as const,
  ),
  ['MongoWaitQueueTimeoutError', named('MongoWaitQueueTimeoutError'), UNKNOWN],
] as const

type ErrorClass = new (message: string, more: object) => Error
const classes = Object.entries(driver).filter(
  (entry): entry is [string, never] =>
    (typeof entry[1] === 'function' && entry[1].prototype instanceof driver.MongoError) ||
    entry[0] === 'MongoError',
) as unknown as readonly [string, ErrorClass][]

describe('an error of MongoDB:', () => {
  it('every class that the driver exports has a meaning', () => {
    expect(classes.map(([name]) => name).sort()).toEqual(Object.keys(OF_DRIVER).sort())
  })

  const byClass = classes.flatMap(([name, Class]) => {
    const meaning = OF_DRIVER[name]
    return meaning ? [[name, new Class('text', {}), meaning] as const] : []
  })
  const byCode = BY_CODE.flatMap(([category, codes, meaning]) =>
    codes.map((code) => [`${code}, ${category}`, server(code, 'text'), meaning] as const),
  )
  it.each([...byCode, ...BY_TEXT, ...OF_NODE, ...byClass, ...OF_POOL])(
    '%s',
    async (_what, error, meaning) => {
      const { read, write, commit, retryable, message } = meaning
      expect(await reactionTo(error, 'read')).toMatchObject({ reaction: read })
      expect(await reactionTo(error, 'write')).toMatchObject({ reaction: write })
      expect(await reactionTo(error, 'commit')).toMatchObject({ reaction: commit })
      if (read === 'repeats') return
      const { failure } = await reactionTo(error, 'read')
      expect(failure).toBeInstanceOf(StorageError)
      expect(failure).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining(message) as string,
        cause: error,
        retryable,
      })
    },
  )

  it.each([
    ['a code without a meaning', server(9, 'Failed to parse')],
    ['another use of code 2', server(2, 'unknown operator: $foo')],
    ['another use of code 20', server(20, 'Cannot drop collection in read-only mode')],
    ['a bug', new TypeError('undefined is not a function')],
    ['a bug with a code of Node', Object.assign(new RangeError('text'), { code: 'ERR_OUT_OF_RANGE' })],
  ])('%s is passed on unchanged', async (_what, error) => {
    expect(await reactionTo(error, 'read')).toEqual({ reaction: 'fails', failure: error })
  })
})

/** Fails one command of a store with an error, and returns what the store does next. */
async function reactionTo(error: Error, at: 'read' | 'write' | 'commit') {
  const sent: string[] = []
  let isFailing = false
  const send = async <T>(step: 'read' | 'write' | 'commit', response: T): Promise<T> => {
    sent.push(step)
    await Promise.resolve()
    if (!isFailing || step !== at) return response
    isFailing = false
    throw error
  }
  const session = {
    startTransaction() {},
    inTransaction: () => false,
    abortTransaction: () => Promise.resolve(),
    commitTransaction: () => send('commit', undefined),
    endSession: () => Promise.resolve(),
  }
  const collection = {
    collectionName: 'collection',
    findOne: ({ _id }: { _id: string }) =>
      send('read', _id === 'version' ? { version: 2, minCompatible: 1 } : null),
    deleteOne: () => send('write', { deletedCount: 1 }),
  }
  const db = { databaseName: 'files', collection: () => collection, command: () => send('read', {}) }
  const client = { options: {}, db: () => db, startSession: () => session, on() {} }
  const store = mongoAdapter({ ...db, client } as unknown as MongoDatabase)
  await store.getScopeUsage('ann')
  sent.length = 0
  isFailing = true
  const call = at === 'read' ? store.getScopeUsage('ann') : store.forgetLeftover({ attemptId: ID })
  const failure: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  const count = (step: string) => sent.filter((each) => each === step).length
  if (failure !== null) return { reaction: 'fails', failure }
  return { reaction: at === 'commit' && count('write') === 1 ? 'commits again' : 'repeats', failure }
}

const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

function server(code: number, message: string): Error {
  return new driver.MongoServerError({ message, code })
}

function labelled(code: number, label: string): Error {
  return new driver.MongoServerError({ message: 'text', code, errorLabels: [label] })
}

function named(name: string): Error {
  return Object.assign(new Error('text'), { name })
}

function node(code: string, syscall?: string): Error {
  return Object.assign(new Error(code), { code, syscall })
}

function caused(cause: Error): Error {
  return new driver.MongoNetworkError('text', { cause })
}
