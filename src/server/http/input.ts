import type { ErrorCode } from '../../core/errors.js'
import type { Guard } from '../../core/guards.js'
import type { Call, GuardPlan } from '../../core/http/endpoint.js'
import { bucketOr, described, readSent, type HttpField, type SentValues } from '../../core/http/fields.js'
import { nullable, withProperties } from '../../core/openapi/schemas.js'
import type { RecordKeeper } from '../../core/plugin.js'
import {
  attemptId,
  integer,
  metadata,
  optional,
  size,
  text,
  type ReadOf,
} from '../../core/store/inputs/fields.js'
import { isPastEnd } from '../../core/store/lifecycle/change.js'
import type { ObjectMetadata, StorageObject } from '../../core/store/records.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import type { UploadRequest } from '../attempts/begin.js'
import { attemptNotFound, goneAttempt } from '../attempts/errors.js'
import type { RefusedPut } from '../attempts/refused-puts.js'
import type { ServerDependencies } from '../dependencies.js'
import { findOwnActive, findOwnArrived } from '../objects.js'
import { checkMediaType } from '../../core/http/media-type.js'
import { checkAccepted, routeOf } from '../upload-routes/acceptance.js'
import { buildKeys, buildMetadata } from '../upload-routes/functions.js'
import type { RoutePolicy, RouteTable } from '../upload-routes/options.js'

/** The errors that can refuse an upload request, apart from `STORAGE_UNAVAILABLE`. */
export const UPLOAD_REQUEST_ERRORS: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'FORBIDDEN',
  'OBJECT_NOT_FOUND',
  'KEY_CONFLICT',
  'QUOTA_EXCEEDED',
  'FILE_TOO_LARGE',
  'CONTENT_TYPE_NOT_ALLOWED',
]

const FILE = {
  filename: text('filename'),
  contentType: {
    ...text('contentType'),
    description: 'A media type.',
    read: (value: unknown) => checkMediaType(value),
  },
  size,
}

const METADATA = { metadata: optional(metadata) }

function uploadFields(routes: RouteTable) {
  return { route: routeField(routes), ...FILE, metadata: metadataField([...routes.values()]) }
}

function routeField(routes: RouteTable): HttpField<RoutePolicy> {
  return {
    isRequired: routes.size !== 1,
    // An empty list of values is no valid schema.
    schema:
      routes.size > 0
        ? { type: 'string', enum: [...routes.keys()] }
        : { not: {}, description: 'No upload route is open, so the server refuses every upload.' },
    read: (name) => routeOf(routes, name),
  }
}

function metadataField(routes: readonly RoutePolicy[]) {
  const refusing = routes.filter((route) => route.metadata === false).map(({ name }) => name)
  if (refusing.length === 0) return METADATA.metadata
  if (refusing.length < routes.length) {
    return described(METADATA.metadata, `Refused by the routes ${refusing.join(', ')}.`)
  }
  const schema = { type: 'null', description: 'The server refuses metadata from clients.' }
  return { ...METADATA.metadata, schema }
}

/** A request to start an upload, with the metadata as the client sent it. */
interface StartRequest extends UploadRequest {
  readonly filename: string
  readonly sentMetadata: ObjectMetadata | null
}

/** Reads a request that starts an upload, first its route for `known`, and builds the key and the metadata. */
async function readUploadRequest(
  routes: RouteTable,
  maxSize: number,
  sent: SentValues,
  { scope, request, known }: Call,
): Promise<StartRequest> {
  const route = routeOf(routes, sent.get('route'))
  known.route = route.name
  const file = readSent(FILE, sent)
  await checkAccepted(route, { ...file, maxSize, scope, request })
  const given = readMetadata(route, sent)
  // The route's function may change what it gets.
  const sentMetadata = given && { ...given }
  const keys = await buildKeys(route, scope, file.filename)
  const metadata = await buildMetadata(route, given, { request, scope })
  return { route, ...file, metadata, sentMetadata, ...keys }
}

/** Returns the metadata that the client sent, or `null`. @throws StorageError `VALIDATION_ERROR` */
function readMetadata(route: RoutePolicy, sent: SentValues) {
  const isSent = (sent.get('metadata') ?? null) !== null
  if (isSent && route.metadata === false) {
    throw invalid('metadata', `must not be set, because the upload route ${shown(route.name)} refuses it.`)
  }
  return readSent(METADATA, sent).metadata
}

const MAX_MESSAGE = 500

const MAX_STATUS = 999

/** Why a client ends an attempt, or keeps one in parts, if the storage has refused its bytes. */
export const failure: HttpField<RefusedPut | null> = {
  isRequired: false,
  schema: withProperties({
    status: nullable(integer(0, MAX_STATUS).schema),
    message: { type: 'string', maxLength: MAX_MESSAGE },
  }),
  description:
    'What the storage responded to a PUT of this upload, if it refused the bytes. A `null` status means that the browser could ' +
    'not read a response. Only the `onError` of the server gets it.',
  read(value, name) {
    if (value === undefined || value === null) return null
    const { status, message } = Object(value) as Readonly<Record<string, unknown>>
    if (isStatus(status) && typeof message === 'string' && [...message].length <= MAX_MESSAGE) {
      return { status, message }
    }
    const allowed = `an integer from 0 to ${MAX_STATUS} or null, and a string of at most ${MAX_MESSAGE} characters`
    throw invalid(
      name,
      `must be { status, message }: ${allowed} (got ${shown(status)} and ${shown(message)}).`,
    )
  },
}

function isStatus(value: unknown): value is RefusedPut['status'] {
  if (value === null) return true
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_STATUS
}

/** The fields that identify an attempt, with the values from the response that started it. */
export function attemptFields(defaultBucket: string) {
  return { bucket: bucketOr(defaultBucket), key: text('key'), id: attemptId }
}

export function multipartFields(defaultBucket: string) {
  return { ...attemptFields(defaultBucket), uploadId: text('uploadId') }
}

type AttemptReference = ReadOf<ReturnType<typeof attemptFields>> & { readonly uploadId?: string }

/** Returns the pending row of an attempt. @throws StorageError `OBJECT_NOT_FOUND`, also for another scope's row. */
export async function ownPending(records: RecordKeeper, attempt: AttemptReference, scope: string) {
  const pending = await findPending(records, attempt, scope)
  if (pending?.isNamed) return pending.row
  throw attemptNotFound()
}

/** Returns the row of an attempt whose bytes may still arrive. @throws StorageError `OBJECT_NOT_FOUND` */
export async function ownUnfinished(records: RecordKeeper, attempt: AttemptReference, scope: string) {
  const row = await ownPending(records, attempt, scope)
  if (row.arrivedAt === null) return row
  throw attemptNotFound()
}

/**
 * Returns the pending row of an attempt, or the object that it became.
 * @throws StorageError `UPLOAD_REJECTED`, `OBJECT_NOT_FOUND`
 */
export async function ownAttempt(records: RecordKeeper, attempt: AttemptReference, scope: string) {
  const pending = await findPending(records, attempt, scope)
  if (pending?.isNamed) return pending.row
  const active = await findOwnActive(records, attempt, scope)
  if (active?.attemptId === attempt.id) return active
  throw pending ? attemptNotFound() : await goneAttempt(records, attempt, scope)
}

/** Returns the pending row with this id, and whether the upload id is right as well. An attempt that has arrived has none any more. */
async function findPending(
  { objects }: RecordKeeper,
  { bucket, key, id, uploadId }: AttemptReference,
  scope: string,
): Promise<{ readonly row: StorageObject; readonly isNamed: boolean } | null> {
  const row = await objects.findPending({ bucket, key, id, scope })
  if (row?.scope !== scope) return null
  return { row, isNamed: row.arrivedAt !== null || row.uploadId === (uploadId ?? null) }
}

/** What the upload would change. */
interface StartSubject {
  readonly route: string
  /** The caller's active object at the key, if guards need to know. */
  readonly replaces: StorageObject | null
  /** Whether an upload of the caller at the key waits for its check, if guards need to know. */
  readonly isWaiting: boolean
}

/** What the requests that start uploads differ in. */
interface Start {
  /** The guards of the operation, which run before the route's. */
  readonly guards: readonly (Guard | null | undefined)[]
  readonly isMultipart: boolean
  /** Bytes. */
  readonly maxSize: number
}

/** The steps of a request that starts an upload, up to the guards. */
export function startSteps(
  { records, now }: Pick<ServerDependencies, 'records' | 'now'>,
  routes: RouteTable,
  { guards, isMultipart, maxSize }: Start,
) {
  const guardsOf = (route: RoutePolicy) => [...guards, route.guard].filter((guard) => guard != null)
  const hasChecks = [...routes.values()].some(({ checkSeconds }) => checkSeconds !== null)
  return {
    body: uploadFields(routes),
    parse: (sent: SentValues, call: Call) => readUploadRequest(routes, maxSize, sent, call),
    // There is no object to own yet. The store checks ownership of the key as part of the reservation.
    async own({ route, key }: StartRequest, { scope }: Call): Promise<StartSubject> {
      // Only guards need to know, and a random key is new.
      const mayReplace = route.overwrite && route.key !== null && guardsOf(route).length > 0
      const at = { bucket: route.bucket, key }
      if (!mayReplace) return { route: route.name, replaces: null, isWaiting: false }
      const [own, arrived] = await Promise.all([
        findOwnActive(records, at, scope),
        hasChecks ? findOwnArrived(records, at, scope) : null,
      ])
      const replaces = own && !isPastEnd(own, now()) ? own : null
      return { route: route.name, replaces, isWaiting: arrived !== null }
    },
    guard(
      { route, key, size, filename, contentType, sentMetadata }: StartRequest,
      { replaces, isWaiting }: StartSubject,
    ): GuardPlan {
      return {
        guards: guardsOf(route),
        context: {
          ...{ bucket: route.bucket, key, route: route.name, size, filename, contentType },
          ...{ metadata: sentMetadata, multipart: isMultipart, replaces, waiting: isWaiting },
        },
      }
    },
  }
}
