import { checkBasePath, DEFAULT_BASE_PATH } from '../http/base-path.js'
import { createHandler, type Handler } from '../http/handler.js'
import { toStorageError } from '../errors.js'
import type { RecordKeeper, ServerEnvironment, ServerPlugin } from '../plugin.js'
import type { StorageObject } from '../store/records.js'
import { createReport, type Report } from '../reporter.js'
import type {
  ConfirmInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  StorageObjectStore,
} from '../store/contract.js'
import { confirmCommand, reserveCommand } from '../store/inputs.js'
import { checkObject } from '../store/validation/scalars.js'
import { dbEndpoints } from './endpoints.js'
import { checkDbOptions, type DbOptions } from './options.js'
import { createRecordKeeper } from './record-keeper.js'

/** An input of the store without what the plugin fills in; the bucket may be named. */
type WithoutOwner<Input extends { readonly bucket: string }> = Omit<Input, 'scope' | 'quota' | 'bucket'> & {
  readonly bucket?: string | null | undefined
}

/** `expiresAt`: default now plus `pendingTtlSeconds`. */
export type DbReserveInput = Omit<WithoutOwner<ReserveInput>, 'expiresAt'> & {
  readonly expiresAt?: Date | null | undefined
}
export type DbConfirmInput = WithoutOwner<ConfirmInput>
export type DbReleaseInput = WithoutOwner<ReleaseInput>
/** `mode`: default the `deleteMode` of `db()`. */
export type DbRemoveInput = WithoutOwner<RemoveInput>

/**
 * What `db()` gives, and what stands at `s3.db`: the store, its two endpoints, and the store's writes on behalf of a
 * request, for servers with upload code of their own.
 *
 * The four writes fill in the caller's scope, the quota, the expiry and the bucket, and call the hooks. Each rejects as
 * the store does, and with `UNAUTHORIZED` where nobody is signed in; what is another scope's is as if it weren't there.
 */
export interface DbContext {
  readonly objects: StorageObjectStore
  /** Serves `GET {basePath}/db/objects` and `GET {basePath}/db/object`. */
  readonly handler: Handler
  readonly basePath: string
  reserve(request: Request, input: DbReserveInput): Promise<StorageObject>
  confirm(request: Request, input: DbConfirmInput): Promise<StorageObject>
  release(request: Request, input: DbReleaseInput): Promise<StorageObject | null>
  remove(request: Request, input: DbRemoveInput): Promise<StorageObject | null>
}

/** Usable by itself, or in `plugins` of a server. */
export type DbPlugin = DbContext & ServerPlugin<'db', DbContext>

interface Surroundings extends Omit<ServerEnvironment, 'bucket'> {
  readonly bucket: string | null
}

/**
 * Records every stored object of a bucket, ties it to its owner, and guards it by ownership and quota.
 *
 * @throws TypeError for bad options.
 */
export function db(options: DbOptions): DbPlugin {
  checkDbOptions(options)
  const ownReport = options.onError && createReport(options.onError)

  function install(environment: Surroundings) {
    const { basePath, bucket } = environment
    const report = ownReport ?? environment.report
    const records = createRecordKeeper(options, report)
    const endpoints = dbEndpoints(records.objects, bucket)
    const handler = createHandler({
      basePath,
      endpoints,
      report,
      onOperation: options.onOperation ?? environment.onOperation,
      resolveScope: (request) => records.resolveScope(request),
    })
    const writes = writesFor(records, report, bucket, options.now ?? environment.now)
    const context: DbContext = { objects: records.objects, handler, basePath, ...writes }
    return { context, endpoints, records }
  }

  const alone = install({
    basePath: checkBasePath('db()', options.basePath ?? DEFAULT_BASE_PATH),
    bucket: options.bucket ?? null,
    report: createReport(null),
    now: () => new Date(),
  })
  return { id: 'db', install, ...alone.context }
}

function writesFor(
  records: RecordKeeper,
  report: Report,
  defaultBucket: string | null,
  now: () => Date,
): Pick<DbContext, 'reserve' | 'confirm' | 'release' | 'remove'> {
  /** Fills in scope and bucket. The store checks the bucket, so one that nobody named is its error to tell. */
  async function forCaller<Input extends { readonly bucket?: string | null | undefined }, Answer>(
    operation: string,
    request: Request,
    input: Input,
    act: (input: Input & { bucket: string; scope: string }) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const scope = await records.resolveScope(request)
      checkObject('input', input)
      return await act({ ...input, scope, bucket: (input.bucket ?? defaultBucket)! })
    } catch (thrown) {
      const error = toStorageError(thrown)
      if (error.status >= 500) report(error, { request, operation })
      throw error
    }
  }

  return {
    reserve: (request, input) =>
      forCaller('db.reserve', request, input, async (filled) => {
        const expiresAt = input.expiresAt ?? new Date(now().getTime() + records.pendingTtlSeconds * 1000)
        // The input comes first: the quota of what can't be reserved is nobody's question.
        reserveCommand({ ...filled, expiresAt }, now())
        const quota = await records.quotaOf(filled.scope, request)
        return records.reserve({ ...filled, expiresAt, quota }, request)
      }),

    confirm: (request, input) =>
      forCaller('db.confirm', request, input, async (filled) => {
        confirmCommand(filled, now())
        const quota = await records.quotaOf(filled.scope, request)
        return records.confirm({ ...filled, quota }, request)
      }),

    release: (request, input) =>
      forCaller('db.release', request, input, (filled) => records.objects.release(filled)),

    remove: (request, input) =>
      forCaller('db.remove', request, input, (filled) =>
        records.remove({ ...filled, mode: input.mode ?? records.deleteMode }, request),
      ),
  }
}
