import { checkBasePath, createHandler, DEFAULT_BASE_PATH, type Handler } from '../http/handler.js'
import { StorageError, toStorageError } from '../errors.js'
import type { ServerEnvironment, ServerPlugin } from '../plugin.js'
import type { StorageObject } from '../store/records.js'
import { createReport, type Report } from '../reporter.js'
import type { StorageObjectStore } from '../store/contract.js'
import {
  attemptId,
  inputNames,
  listOf,
  readCommand,
  readFields,
  refuseUnknown,
  refuseUnknownNames,
  type Fields,
} from '../store/inputs/fields.js'
import * as inputs from '../store/inputs/index.js'
import { runSteps } from '../http/endpoint.js'
import type { SentValues } from '../http/fields.js'
import { dbEndpoints } from './endpoints.js'
import {
  ALL_CHANGES,
  readUpdate,
  UPDATE_INPUT,
  updateSteps,
  type DbUpdateInput,
  type UpdateSteps,
} from './update.js'
import { checkDbOptions, type DbOptions } from './options.js'
import { createRecordKeeper, type DbRecordKeeper } from './record-keeper.js'

/** An input of the store without the fields that the plugin fills in. */
type WithoutOwner<Input extends { readonly bucket: string }> = Omit<Input, 'scope' | 'quota' | 'bucket'> & {
  readonly bucket?: string | null | undefined
}

/** `expiresAt` defaults to now plus `pendingTtlSeconds`. */
export type DbReserveInput = Omit<WithoutOwner<inputs.ReserveInput>, 'expiresAt' | 'checkSeconds'> & {
  readonly expiresAt?: Date | null | undefined
}
export type DbConfirmInput = Omit<WithoutOwner<inputs.ConfirmInput>, 'accept'>
export type DbReleaseInput = WithoutOwner<inputs.ReleaseInput>
export interface DbKeepInput {
  /** 1 to 100, each once: the `id` of an object, or of the attempt that made its present version, which is what `api.upload` returned. */
  readonly ids: readonly string[]
}
/** `mode` defaults to the `deleteMode` of `db()`. */
export type DbRemoveInput = WithoutOwner<inputs.RemoveInput>

/**
 * What `db()` returns, and the value of `s3.db`: the store, its endpoints, and writes on behalf of a request, for servers
 * with their own upload code.
 *
 * The bytes of an object that `reserve` recorded without a `storageKey` belong to the application: on a server, `DELETE /object`
 * removes its row and nothing else. With a `storageKey` that no other attempt uses, the server removes the bytes as well.
 *
 * The writes fill in the caller's scope, the quota, the expiry and the bucket, and call the hooks. They reject like
 * the store, and with `UNAUTHORIZED` if the caller is not signed in. Another scope's object is treated as missing.
 */
export interface DbContext {
  readonly objects: StorageObjectStore
  /**
   * Serves `GET {basePath}/db/objects`, `GET {basePath}/db/object` and, if they are on, `PATCH {basePath}/db/object` and
   * `GET {basePath}/db/usage`.
   *
   * @example
   * const response = await s3.db.handler(request)
   */
  readonly handler: Handler
  readonly basePath: string
  /**
   * Starts an upload of the caller, as `reserve` of the store.
   *
   * @example
   * const pending = await s3.db.reserve(request, { key, filename: 'a.png', declaredSize: 1024 })
   */
  reserve(request: Request, input: DbReserveInput): Promise<StorageObject>
  /**
   * Makes an upload of the caller active, as `confirm` of the store.
   *
   * @example
   * const object = await s3.db.confirm(request, { key, id: attemptId, size: 1024 })
   */
  confirm(request: Request, input: DbConfirmInput): Promise<StorageObject>
  /**
   * Ends an upload of the caller without an object. Returns the row it removed, or `null`.
   *
   * @example
   * await s3.db.release(request, { key, id: attemptId })
   */
  release(request: Request, input: DbReleaseInput): Promise<StorageObject | null>
  /**
   * Removes the caller's object, or its pending upload. Returns the removed row, or `null`.
   *
   * @example
   * const removed = await s3.db.remove(request, { key })
   */
  remove(request: Request, input: DbRemoveInput): Promise<StorageObject | null>
  /**
   * Changes the caller's active object as `PATCH /db/object` does, with its guard and the word of the object's route, whether or not
   * that endpoint is on. All fields are allowed, because the server chooses them.
   * @throws StorageError `OBJECT_NOT_FOUND`; `VALIDATION_ERROR`; `CONTENT_TYPE_NOT_ALLOWED`; what the guard throws
   *
   * @example
   * await s3.db.update(request, { key, setMetadata: { album: 'Summer' } })
   */
  update(request: Request, input: DbUpdateInput): Promise<StorageObject>
  /**
   * Clears the end of the caller's temporary objects, so that they stay, and returns their rows in the order of the ids. Clears all
   * or, if one is missing, none. Objects without an end stay as they are. To do this in your own transaction, call `keep` of the store.
   * @throws StorageError `OBJECT_NOT_FOUND` if one is no object of the caller, or its end has passed: `params.missing` has the indexes
   * of all such ids, separated by commas; `VALIDATION_ERROR`
   *
   * @example
   * await s3.db.keep(request, { ids: form.fileIds })
   */
  keep(request: Request, input: DbKeepInput): Promise<StorageObject[]>
}

/** Works on its own, or in the `plugins` of a server. */
export type DbPlugin = DbContext & ServerPlugin<'db', DbContext>

/**
 * Records every object of a bucket with its owner, and enforces ownership and quotas.
 *
 * @throws TypeError for invalid options.
 *
 * @example
 * import { createS3Server, db, memoryStorage } from '@svc/db'
 * import { memoryAdapter } from '@svc/db/memory'
 *
 * const s3 = createS3Server({
 *   storage: memoryStorage(),
 *   bucket: 'uploads',
 *   plugins: [
 *     db({
 *       client: memoryAdapter(),
 *       resolveScope: (request) => request.headers.get('x-user'),
 *       quota: { maxBytes: 1_000_000_000 },
 *     }),
 *   ],
 * })
 */
export function db(options: DbOptions): DbPlugin {
  checkDbOptions(options)
  const ownReport = options.onError && createReport(options.onError)

  function install(environment: Omit<ServerEnvironment, 'bucket'> & { readonly bucket: string | null }) {
    const { basePath, bucket } = environment
    const report = ownReport ?? environment.report
    const now = options.now ?? environment.now
    const records = createRecordKeeper(options, report, environment, now)
    const { fields, guard } = updateOptions(options.update)
    const steps = updateSteps(records, guard, environment.acceptChange, now)
    const endpoints = dbEndpoints(records, {
      bucket,
      withUsage: options.usageEndpoint === true,
      update: fields && { fields, steps },
    })
    const handler = createHandler({
      basePath,
      endpoints,
      report,
      onOperation: options.onOperation ?? environment.onOperation,
      resolveScope: (request) => records.callerOf(request),
    })
    const writes = writesFor(records, steps, report, bucket, now)
    const context: DbContext = { objects: records.objects, handler, basePath, ...writes }
    return { context, endpoints, records }
  }

  const alone = install({
    basePath: checkBasePath('db', options.basePath ?? DEFAULT_BASE_PATH),
    bucket: options.bucket ?? null,
    report: createReport(null),
    now: () => new Date(),
  })
  return { id: 'db', install, ...alone.context }
}

/** The quota is that of `db()`. */
const { quota: _reserveQuota, checkSeconds: _checkSeconds, ...RESERVE } = inputs.RESERVE
const { quota: _confirmQuota, accept: _accept, ...CONFIRM } = inputs.CONFIRM

function writesFor(
  records: DbRecordKeeper,
  update: UpdateSteps,
  report: Report,
  defaultBucket: string | null,
  now: () => Date,
): Pick<DbContext, 'reserve' | 'confirm' | 'release' | 'remove' | 'update' | 'keep'> {
  /** Fills in scope and bucket. The store rejects a missing bucket. `fields` are those that the call takes. */
  async function forCaller<Input extends { readonly bucket?: string | null | undefined }, Result>(
    operation: string,
    fields: Fields,
    request: Request,
    input: Input,
    act: (input: Input & { bucket: string; scope: string }) => Promise<Result>,
  ): Promise<Result> {
    return reported(operation, request, (scope) => {
      refuseUnknown(fields, input)
      return act({ ...input, scope, bucket: (input.bucket ?? defaultBucket)! })
    })
  }

  /** Runs a write of the caller, and reports what fails unexpectedly. */
  async function reported<Result>(
    operation: string,
    request: Request,
    write: (scope: string) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await write(await records.resolveScope(request))
    } catch (thrown) {
      const error = toStorageError(thrown)
      if (error.status >= 500) report(error, { request, operation })
      throw error
    }
  }

  return {
    reserve: (request, input) =>
      forCaller('db.reserve', RESERVE, request, input, async (filled) => {
        const expiresAt = input.expiresAt ?? new Date(now().getTime() + records.pendingTtlSeconds * 1000)
        // Bad input is rejected before the application is asked for a quota.
        readCommand(inputs.RESERVE, { ...filled, expiresAt }, now())
        const quota = await records.quotaOf(filled.scope, request)
        return records.reserve({ ...filled, expiresAt, quota }, request)
      }),

    confirm: (request, input) =>
      forCaller('db.confirm', CONFIRM, request, input, async (filled) => {
        readCommand(inputs.CONFIRM, filled, now())
        const quota = await records.quotaOf(filled.scope, request)
        return records.confirm({ ...filled, quota }, request)
      }),

    release: (request, input) =>
      forCaller('db.release', inputs.RELEASE, request, input, (filled) => records.objects.release(filled)),

    remove: (request, input) =>
      forCaller('db.remove', inputs.REMOVE, request, input, (filled) =>
        records.remove({ ...filled, mode: input.mode ?? records.deleteMode }, request),
      ),

    keep: (request, input) =>
      reported('db.keep', request, async (scope) => {
        refuseUnknown(KEEP, input)
        const { ids } = readFields(KEEP, input, now())
        try {
          return await records.keep({ scope, objects: ids.map((id) => ({ id })) })
        } catch (error) {
          throw namedByIds(error)
        }
      }),

    update: (request, input) =>
      reported('db.update', request, async (scope) => {
        refuseUnknownNames(UPDATE_NAMES, input)
        const values = input as Readonly<Record<string, unknown>>
        // A whole row is found by its key, as by the client.
        const ignored = input.key == null ? 'bucket' : 'id'
        const named: SentValues = { get: (name) => (name === ignored ? null : (values[name] ?? null)) }
        const read = readUpdate(named, { get: (name) => values[name] }, defaultBucket, ALL_CHANGES)
        const call = { request, scope, baseURL: '', known: { scope, route: null } }
        return runSteps(update, read, call, (error) => report(error, { request, operation: 'db.update' }))
      }),
  }
}

const KEEP = { ids: listOf(attemptId, inputs.MAX_OBJECTS, 1) }

/** Names the field of this call in an error of the store's. */
function namedByIds(error: unknown): unknown {
  const isInvalid = error instanceof StorageError && error.code === 'VALIDATION_ERROR'
  if (!isInvalid) return error
  const ofCall = (text: string) => text.replace(/\bobjects\[(\d+)\]\.id\b/g, 'ids[$1]')
  const { message, params } = error
  return new StorageError('VALIDATION_ERROR', {
    message: ofCall(message),
    params: { ...params, field: ofCall(String(params?.['field'])) },
  })
}

const UPDATE_NAMES = inputNames(UPDATE_INPUT)

/** Returns the fields that owners may change over HTTP, `null` for none. */
function updateOptions(update: DbOptions['update']) {
  if (!update) return { fields: null, guard: null }
  const { fields, guard } = update === true ? {} : update
  return { fields: fields ?? ['filename' as const], guard: guard ?? null }
}
