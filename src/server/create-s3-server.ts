import type { Endpoint } from '../core/http/endpoint.js'
import { createHandler, type Handler } from '../core/http/handler.js'
import type { InstalledPlugin, RecordKeeper, ServerPlugin } from '../core/plugin.js'
import { createReport } from '../core/reporter.js'
import { abortEndpoint } from './endpoints/abort.js'
import { confirmEndpoint } from './endpoints/confirm.js'
import { deleteObjectEndpoint } from './endpoints/delete-object.js'
import { downloadEndpoint } from './endpoints/download.js'
import { multipartEndpoints } from './endpoints/multipart/index.js'
import { uploadEndpoint } from './endpoints/upload.js'
import { DEFAULT_URL_SECONDS } from './lifetimes.js'
import { wrongOption } from './options/option-checks.js'
import type { S3ServerOptions } from './options/server-options.js'
import { attachParts, type ServerParts } from './server-parts.js'
import { serverPolicy, type ServerPolicy } from './options/server-policy.js'
import { withNamedFailures } from './storage-failures.js'
import { storageSubtrees } from './storage-subtree.js'

/** What every server has, whatever its plugins. */
export interface S3ServerCore {
  /** Serves every path below `basePath`; never rejects. */
  readonly handler: Handler
  /** Without a slash at its end. */
  readonly basePath: string
}

/** What the plugins put on a server, each under its id. */
export type PluginContexts<Plugins extends readonly ServerPlugin[]> = {
  readonly [Plugin in Plugins[number] as Plugin['id']]: Plugin extends ServerPlugin<string, infer Context>
    ? Context
    : never
}

export type S3Server<Plugins extends readonly ServerPlugin[]> = S3ServerCore & PluginContexts<Plugins>

/**
 * Makes an S3 service: presigned uploads and downloads, each object recorded, owned and counted by the plugin that keeps
 * records, `db()`, which then stands at `server.db`.
 *
 * @throws TypeError for bad options, and unless exactly one plugin keeps records.
 */
export function createS3Server<const Plugins extends readonly ServerPlugin[]>(
  options: S3ServerOptions<Plugins>,
): S3Server<Plugins> {
  const policy = serverPolicy(options)
  const { basePath, bucket, onOperation, now } = policy
  const report = createReport(policy.onError)
  const installed = policy.plugins.map((plugin) => ({
    id: plugin.id,
    ...plugin.install({ basePath, bucket, report, onOperation, now }),
  }))
  const records = recordsOf(installed)
  const storage = withNamedFailures(policy.storage)
  const downloadSeconds = policy.download?.urlSeconds ?? DEFAULT_URL_SECONDS
  const parts: ServerParts = { storage, records, bucket, downloadSeconds, report, now }

  const handler = createHandler({
    basePath,
    endpoints: [...serverEndpoints(parts, policy), ...installed.flatMap(({ endpoints }) => endpoints)],
    subtrees: storageSubtrees(storage),
    report,
    onOperation,
    resolveScope: (request) => records.resolveScope(request),
  })
  const contexts = Object.fromEntries(installed.map(({ id, context }) => [id, context]))
  const server = { handler, basePath, ...contexts } as S3Server<Plugins>
  attachParts(server, parts)
  return server
}

/** An operation that is off has no endpoint, so that its path is unknown. */
function serverEndpoints(parts: ServerParts, policy: ServerPolicy): readonly Endpoint[] {
  const { upload, multipart, download, delete: remove, routes } = policy
  const storage = parts.storage.multipart
  return [
    ...(upload ? [uploadEndpoint(parts, upload, routes), confirmEndpoint(parts), abortEndpoint(parts)] : []),
    ...(multipart && storage ? multipartEndpoints({ ...parts, multipart: storage }, multipart, routes) : []),
    ...(download ? [downloadEndpoint(parts, download)] : []),
    ...(remove ? [deleteObjectEndpoint(parts, remove)] : []),
  ]
}

function recordsOf(installed: readonly InstalledPlugin[]): RecordKeeper {
  const [records, second] = installed.flatMap((plugin) => plugin.records ?? [])
  if (!records) throw wrongOption('plugins must have one that keeps records: add db().')
  if (second) throw wrongOption('plugins must have only one that keeps records, not two.')
  return records
}
