/** Codes are stable API; messages may change. Clients never see another message of an `internal` code than the one here. */
const ERROR_TABLE = {
  VALIDATION_ERROR: { status: 400, message: 'A parameter is invalid.' },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor is invalid. Use the one that an earlier page returned.',
  },
  UNAUTHORIZED: { status: 401, message: 'Sign in to do this.' },
  FORBIDDEN: { status: 403, message: 'You do not have permission to do this.' },
  OBJECT_NOT_FOUND: { status: 404, message: 'The object does not exist.' },
  NOT_FOUND: { status: 404, message: 'Nothing exists at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path does not support this method.' },
  KEY_CONFLICT: { status: 409, message: 'The key is already in use.' },
  UPLOAD_MISMATCH: { status: 409, message: 'The uploaded bytes do not match the upload request.' },
  UPLOAD_REJECTED: { status: 409, message: 'The upload was rejected.' },
  QUOTA_EXCEEDED: { status: 413, message: 'The quota would be exceeded.' },
  FILE_TOO_LARGE: { status: 413, message: 'The file is too large.' },
  CONTENT_TYPE_NOT_ALLOWED: { status: 415, message: 'This content type is not allowed.' },
  STORAGE_UNAVAILABLE: {
    status: 502,
    message: 'The storage is unavailable.',
    internal: true,
    retryable: true,
  },
  DATABASE_UNAVAILABLE: {
    status: 503,
    message: 'The database is unavailable.',
    internal: true,
    retryable: true,
  },
  INTERNAL_ERROR: { status: 500, message: 'Something went wrong.', internal: true },
} as const satisfies Record<string, ErrorProperties & { status: number }>

interface ErrorProperties {
  readonly message: string
  readonly internal?: true
  readonly retryable?: boolean
}

/** The codes of {@link StorageError}. Each maps to one HTTP status. */
export type ErrorCode = keyof typeof ERROR_TABLE

/** An HTTP status that a code maps to. */
export type ErrorStatus = (typeof ERROR_TABLE)[ErrorCode]['status']

/** Details of an error: names, numbers and short texts. */
export type ErrorParams = Readonly<Record<string, string | number | boolean>>

/** The body of every error response. */
export interface ErrorBody {
  readonly code: ErrorCode
  readonly message: string
  readonly params?: ErrorParams
}

export interface StorageErrorOptions {
  /** Default: the message of the code. */
  readonly message?: string | undefined
  /** Details for programs. Clients get them, except with 5xx codes. */
  readonly params?: ErrorParams | undefined
  /** The underlying error. Never sent to clients. */
  readonly cause?: unknown
  /**
   * `false` if retrying does not help until an operator acts, for example because the database was never migrated.
   * Default: `true` for `DATABASE_UNAVAILABLE` and `STORAGE_UNAVAILABLE`, `false` for every other code.
   */
  readonly retryable?: false | undefined
}

const BRAND = Symbol.for('@svc/db/StorageError')

/**
 * All error codes.
 *
 * @example
 * import { ERROR_CODES } from '@svc/db'
 *
 * const texts = Object.fromEntries(ERROR_CODES.map((code) => [code, `Error: ${code}`]))
 */
export const ERROR_CODES = Object.keys(ERROR_TABLE) as readonly ErrorCode[]

/**
 * The only error class of the library. `status` follows from `code`.
 *
 * `instanceof StorageError` works across the ESM and the CommonJS build, although each has its own copy of this class.
 *
 * @example
 * import { StorageError } from '@svc/db'
 *
 * try {
 *   await store.transfer({ bucket, key, from: 'user:ann', to: 'org:acme' })
 * } catch (error) {
 *   if (!(error instanceof StorageError) || error.code !== 'QUOTA_EXCEEDED') throw error
 *   console.log(error.status, error.params)
 * }
 */
export class StorageError extends Error {
  declare readonly name: 'StorageError'
  readonly code: ErrorCode
  readonly status: ErrorStatus
  /** Whether the same call may succeed later, without a change to the call or by an operator. */
  readonly retryable: boolean
  declare readonly params?: ErrorParams

  /** @throws TypeError for an unknown code. */
  constructor(code: ErrorCode, options: StorageErrorOptions = {}) {
    if (!Object.hasOwn(ERROR_TABLE, code)) {
      throw new TypeError(`code must be one of ${ERROR_CODES.join(', ')} (got ${JSON.stringify(code)}).`)
    }
    const entry: ErrorProperties & { readonly status: ErrorStatus } = ERROR_TABLE[code]
    super(
      options.message ?? entry.message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.status = entry.status
    this.retryable = options.retryable ?? entry.retryable ?? false
    if (options.params) this.params = options.params
  }

  /** Equal to `status`, under the name that error handlers of Express, Fastify and Nest read. */
  get statusCode(): ErrorStatus {
    return this.status
  }

  /** Whether an error handler may show the message to clients: `true` below 500. */
  get expose(): boolean {
    return this.status < 500
  }

  // `this` instead of the name of the class: bundlers rename a class that names itself, and logs would show that name.
  static {
    // On the prototype, because the stack begins with the name that the error has when `Error` constructs it.
    Object.defineProperty(this.prototype, 'name', {
      value: 'StorageError',
      writable: true,
      configurable: true,
    })
    Object.defineProperty(this.prototype, BRAND, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const isSubclass = !Object.hasOwn(this.prototype, BRAND)
    if (isSubclass) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && BRAND in value
  }
}

type Refusals = Readonly<Record<number, ErrorCode>>

const OF_CALLER: Refusals = { 401: 'UNAUTHORIZED', 403: 'FORBIDDEN' }
const OF_ACCESS: Refusals = { ...OF_CALLER, 404: 'OBJECT_NOT_FOUND' }

/** Returns what the application threw as a refusal, or `null`. Frameworks refuse with a `Response`, or an error with a status. */
export function refusalOf(thrown: unknown): StorageError | null {
  return refusalAmong(OF_CALLER, thrown)
}

/** Like {@link refusalOf}, for functions that decide who may use an object. A 404 hides it. */
export function accessRefusalOf(thrown: unknown): StorageError | null {
  return refusalAmong(OF_ACCESS, thrown)
}

function refusalAmong(refusals: Refusals, thrown: unknown): StorageError | null {
  if (thrown instanceof StorageError) return thrown
  const { status, statusCode } = Object(thrown) as Partial<Record<'status' | 'statusCode', unknown>>
  const code = refusals[Number(status ?? statusCode)]
  return code ? new StorageError(code, { cause: thrown }) : null
}

export function failureOf(name: string, cause: unknown): StorageError {
  return new StorageError('INTERNAL_ERROR', { message: `${name} threw an error.`, cause })
}

/** Returns what a client may see of an error: code, message and params. 5xx errors show only the default message of their code. */
export function errorBody(error: StorageError): ErrorBody {
  const entry: ErrorProperties = ERROR_TABLE[error.code]
  if (entry.internal) return { code: error.code, message: entry.message }
  return { code: error.code, message: error.message, ...(error.params && { params: error.params }) }
}

/** Wraps what isn't a `StorageError`, or is one with a code of another version of the library, in an `INTERNAL_ERROR`. */
export function toStorageError(thrown: unknown): StorageError {
  const known = thrown instanceof StorageError && Object.hasOwn(ERROR_TABLE, thrown.code)
  return known ? thrown : new StorageError('INTERNAL_ERROR', { cause: thrown })
}
