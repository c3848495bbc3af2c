import type { Endpoint } from '../core/http/endpoint.js'
import { createHandler, type Handler } from '../core/http/handler.js'
import type { InstalledPlugin, RecordKeeper, ServerPlugin } from '../core/plugin.js'
import { createReport } from '../core/reporter.js'
import type { OwnedReference } from '../core/store/records.js'
import { refusedPutReport } from './attempts/refused-puts.js'
import { createClose, type Close } from './close.js'
import { EventRunner } from './events/runner.js'
import { createFiles, type ServerFiles } from './files/files.js'
import { createCheckReport } from './jobs/check-report.js'
import { deleteEndpoint } from './http/delete.js'
import { multipartEndpoints } from './http/multipart.js'
import { readingEndpoints } from './http/reading.js'
import { uploadRulesEndpoint } from './http/upload-rules.js'
import { uploadEndpoints } from './http/uploads.js'
import { serverPolicy, type S3ServerOptions, type ServerPolicy, checks } from './options.js'
import { mapStorageErrors, storageSubtrees } from './storage.js'
import { replacedBytesLimit } from './replaced-bytes.js'
import { openRoutes } from './upload-routes/options.js'
import { changesByRoute } from './upload-routes/changes.js'
import { attachDependencies, type ServerDependencies } from './dependencies.js'
import { DEFAULT_URL_SECONDS } from './url-terms.js'
import { createVerify, type Verify } from './verify.js'

/** The members that every server has, whatever its plugins. */
export interface S3ServerCore {
  /**
   * Serves every path below `basePath`. Rejects only for what is no `Request`.
   *
   * @example
   * const response = await s3.handler(new Request('https://app.example/api/s3/db/objects'))
   */
  readonly handler: Handler
  /** The base path, without a trailing slash. */
  readonly basePath: string
  /** Reads and writes files without a browser. */
  readonly files: ServerFiles
  /**
   * Starts no more deliveries of events after changes, and resolves once those in progress have ended, or after `timeoutSeconds`.
   * Then their signals abort, and their events are delivered again when the claims end. Requests are still served, and jobs go on.
   * May be called again. `server.close()` comes before it, and `pool.end()` after it.
   *
   * @throws TypeError (rejects) if an option is invalid.
   *
   * @example
   * server.close()
   * await s3.close({ timeoutSeconds: 20 })
   * await pool.end()
   */
  readonly close: Close
  /**
   * Checks database and bucket as requests use them, and returns what keeps the service from working: an empty list if all is well.
   * What can't be reached is a finding as well. Writes small objects below `.svc-db/`, and removes them. Takes about 30 requests to the
   * bucket, so call it at a start or on demand, not for each health check.
   *
   * Rejects with a TypeError for an invalid option, and with the reason of `signal`.
   *
   * @example
   * for (const { part, message } of await s3.verify()) console.error(`${part}: ${message}`)
   */
  readonly verify: Verify
}

/** The contexts of the plugins, each under the plugin's id. */
export type PluginContexts<Plugins extends readonly ServerPlugin[]> = {
  readonly [Plugin in Plugins[number] as Plugin['id']]: Plugin extends ServerPlugin<string, infer Context>
    ? Context
    : never
}

export type S3Server<Plugins extends readonly ServerPlugin[]> = S3ServerCore & PluginContexts<Plugins>

/**
 * Creates an S3 service with presigned uploads and downloads. The `db()` plugin records each object with its owner, counts
 * it towards the owner's usage, and is available as `server.db`.
 *
 * @throws TypeError if an option is invalid, or unless exactly one plugin keeps records.
 *
 * @example
 * import { createS3Server, db } from '@svc/db'
 * import { diskStorage } from '@svc/db/disk'
 * import { postgresAdapter } from '@svc/db/postgres'
 *
 * const s3 = createS3Server({
 *   storage: diskStorage({ directory: 'data/files' }),
 *   bucket: 'uploads',
 *   routes: { photos: { maxFileSize: 10_000_000, contentTypes: ['image/*'] } },
 *   plugins: [db({ client: postgresAdapter(pool), resolveScope: (request) => userOf(request) })],
 * })
 * const response = await s3.handler(request)
 */
export function createS3Server<const Plugins extends readonly ServerPlugin[]>(
  options: S3ServerOptions<Plugins>,
): S3Server<Plugins> {
  const policy = serverPolicy(options)
  const { basePath, bucket, buckets, onOperation, onEvent, handlerSeconds, waitUntil, now } = policy
  const report = createReport(policy.onError, now)
  let events: EventRunner | null = null
  const changed = (object: OwnedReference) => events?.changed(object)
  const acceptChange = changesByRoute(policy.routes)
  const download = policy.download ?? {
    urlSecondsOf: () => DEFAULT_URL_SECONDS,
    maxSeconds: DEFAULT_URL_SECONDS,
    isByObject: false,
  }
  const replaced = replacedBytesLimit({ download, objects: () => records.objects, report, now })
  const installed = policy.plugins.map((plugin) => ({
    id: plugin.id,
    ...plugin.install({ basePath, bucket, report, onOperation, now, changed, replaced, acceptChange }),
  }))
  const records = recordsOf(installed)
  events =
    onEvent && new EventRunner({ store: records.objects, onEvent, handlerSeconds, report, now, waitUntil })
  const storage = mapStorageErrors(policy.storage)
  const uploadSeconds = policy.upload?.urlSeconds ?? DEFAULT_URL_SECONDS
  const dependencies: ServerDependencies = {
    ...{ storage, records, bucket, buckets, download, uploadSeconds, report, now, events },
    reportRefusedPut: refusedPutReport(report, now, storage),
    checkReport: createCheckReport(report, now),
  }

  const handler = createHandler({
    basePath,
    trailingSlash: policy.trailingSlash,
    endpoints: [...serverEndpoints(dependencies, policy), ...installed.flatMap(({ endpoints }) => endpoints)],
    subtrees: storageSubtrees(storage),
    report,
    onOperation,
    resolveScope: (request) => records.callerOf?.(request) ?? records.resolveScope(request),
  })
  const contexts = Object.fromEntries(installed.map(({ id, context }) => [id, context]))
  const files = createFiles(dependencies, policy.routes)
  const verify = createVerify(dependencies, { browserUploads: takesUploads(policy) })
  const close = createClose(events)
  const server = { handler, basePath, files, close, verify, ...contexts } as S3Server<Plugins>
  attachDependencies(server, dependencies)
  return server
}

function takesUploads({ upload, multipart, storage }: ServerPolicy): boolean {
  return upload !== null || (multipart !== null && storage.multipart !== undefined)
}

/** Returns the endpoints of the enabled operations. The paths of a disabled operation are unknown, like any other path. */
function serverEndpoints(dependencies: ServerDependencies, policy: ServerPolicy): readonly Endpoint[] {
  const { upload, multipart, download, delete: remove } = policy
  const routes = openRoutes(policy.routes)
  const storage = dependencies.storage.multipart
  return [
    ...(upload ? uploadEndpoints(dependencies, upload, routes) : []),
    ...(multipart && storage
      ? multipartEndpoints({ ...dependencies, multipart: storage }, multipart, routes, upload?.guard)
      : []),
    ...(takesUploads(policy)
      ? [uploadRulesEndpoint(routes, multipart !== null && storage !== undefined)]
      : []),
    ...(download ? readingEndpoints(dependencies, download) : []),
    ...(remove ? [deleteEndpoint(dependencies, remove)] : []),
  ]
}

function recordsOf(installed: readonly InstalledPlugin[]): RecordKeeper {
  const [records, ...others] = installed.flatMap((plugin) => plugin.records ?? [])
  if (!records) throw checks.error('plugins must include one plugin that keeps records: add db().')
  if (others.length > 0) {
    throw checks.error(`plugins must include only one plugin that keeps records (got ${others.length + 1}).`)
  }
  return records
}
