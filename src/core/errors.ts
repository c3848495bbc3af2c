/**
 * Every code with its HTTP status and the message that is used where the thrower has none of its own.
 * `code` is API and stable; messages may change. Codes with `internal: true` never show a client more than
 * the message of this table, whatever the error itself says to the operator.
 */
const ERROR_TABLE = {
  VALIDATION_ERROR: { status: 400, message: 'A parameter is not valid.' },
  INVALID_CURSOR: { status: 400, message: 'The cursor is not one that this API gave out.' },
  UNAUTHORIZED: { status: 401, message: 'Sign in to do this.' },
  FORBIDDEN: { status: 403, message: 'This is not allowed.' },
  OBJECT_NOT_FOUND: { status: 404, message: 'There is no such object.' },
  NOT_FOUND: { status: 404, message: 'There is nothing at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path does not take that method.' },
  KEY_CONFLICT: { status: 409, message: 'The key is taken.' },
  UPLOAD_MISMATCH: { status: 409, message: 'What was uploaded is not what was announced.' },
  QUOTA_EXCEEDED: { status: 413, message: 'The quota is used up.' },
  FILE_TOO_LARGE: { status: 413, message: 'The file is too large.' },
  CONTENT_TYPE_NOT_ALLOWED: { status: 415, message: 'Files of this type are not accepted here.' },
  STORAGE_UNAVAILABLE: { status: 502, message: 'The storage could not be reached.', internal: true },
  DATABASE_UNAVAILABLE: { status: 503, message: 'The database could not be reached.', internal: true },
  INTERNAL_ERROR: { status: 500, message: 'Something went wrong.', internal: true },
} as const satisfies Record<string, { status: number; message: string; internal?: true }>

/** The codes of {@link StorageError}; each has one HTTP status. */
export type ErrorCode = keyof typeof ERROR_TABLE

/** The HTTP status that belongs to a code. */
export type ErrorStatus = (typeof ERROR_TABLE)[ErrorCode]['status']

/** What a body of an error response says beside code and message: names, numbers and short texts. */
export type ErrorParams = Readonly<Record<string, string | number | boolean>>

/** The body of every error response. */
export interface ErrorBody {
  readonly code: ErrorCode
  readonly message: string
  readonly params?: ErrorParams
}

export interface StorageErrorOptions {
  /** For whoever reads the error. Default: the code's own sentence. */
  readonly message?: string | undefined
  /** Details that a program may use; sent to clients except with the 5xx codes. */
  readonly params?: ErrorParams | undefined
  /** The error behind this one; never sent to a client. */
  readonly cause?: unknown
}

const BRAND = Symbol.for('@svc/db/StorageError')

/** All codes, for tables and documentation. */
export const ERROR_CODES = Object.keys(ERROR_TABLE) as readonly ErrorCode[]

/**
 * The one error class of the library. `status` follows from `code`.
 *
 * `instanceof StorageError` holds between the ESM and the CommonJS build, which are two copies of this class.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly code: ErrorCode
  readonly status: ErrorStatus
  declare readonly params?: ErrorParams

  /** @throws TypeError for a code that is not in the table. */
  constructor(code: ErrorCode, options: StorageErrorOptions = {}) {
    if (!Object.hasOwn(ERROR_TABLE, code)) {
      throw new TypeError(`Unknown error code ${JSON.stringify(code)}. Known: ${ERROR_CODES.join(', ')}.`)
    }
    const { status, message } = ERROR_TABLE[code]
    super(options.message ?? message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = status
    if (options.params) this.params = options.params
    Object.defineProperty(this, BRAND, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== StorageError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && BRAND in value
  }
}

/** What a client may see of an error: code, message, params. Errors with a 5xx code show only the code's own sentence. */
export function errorBody(error: StorageError): ErrorBody {
  const entry: { message: string; internal?: true } = ERROR_TABLE[error.code]
  if (entry.internal) return { code: error.code, message: entry.message }
  return { code: error.code, message: error.message, ...(error.params && { params: error.params }) }
}

/**
 * Any thrown value as a `StorageError`: what is not one already is an `INTERNAL_ERROR` with it as `cause`, and so is one
 * of another version of the library with a code that this one doesn't know.
 */
export function toStorageError(thrown: unknown): StorageError {
  const known = thrown instanceof StorageError && Object.hasOwn(ERROR_TABLE, thrown.code)
  return known ? thrown : new StorageError('INTERNAL_ERROR', { cause: thrown })
}
