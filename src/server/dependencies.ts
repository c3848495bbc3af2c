import type { MultipartStorage, ObjectStorage } from '../core/object-storage.js'
import type { RecordKeeper } from '../core/plugin.js'
import type { Report } from '../core/reporter.js'
import type { StorageObject } from '../core/store/records.js'
import type { refusedPutReport } from './attempts/refused-puts.js'
import type { EventRunner } from './events/runner.js'
import type { CheckReport } from './jobs/check-report.js'

export interface DownloadLifetimes {
  /** Returns the lifetime of a URL in whole seconds. @throws StorageError `INTERNAL_ERROR` */
  readonly urlSecondsOf: (object: StorageObject) => number
  readonly maxSeconds: number
  /** Whether objects differ in the lifetime of their URLs. */
  readonly isByObject: boolean
}

/** The dependencies that a server's endpoints and jobs share. */
export interface ServerDependencies {
  /** Rejects only with a `StorageError`. */
  readonly storage: ObjectStorage
  readonly records: RecordKeeper
  /** The default bucket. */
  readonly bucket: string
  /** Every bucket that the server knows. */
  readonly buckets: ReadonlySet<string>
  readonly download: DownloadLifetimes
  /** Lifetime of an upload URL, in seconds. */
  readonly uploadSeconds: number
  readonly report: Report
  readonly reportRefusedPut: ReturnType<typeof refusedPutReport>
  readonly checkReport: CheckReport
  readonly now: () => Date
  /** `null` without `onEvent`. */
  readonly events: EventRunner | null
}

/** The dependencies of a server whose storage supports multipart uploads. */
export interface MultipartDependencies extends ServerDependencies {
  readonly multipart: MultipartStorage
}

/** A registered symbol, because the ESM and CommonJS builds each have a copy of this module. */
const DEPENDENCIES = Symbol.for('@svc/db/server-parts')

/** Attaches the dependencies under a non-enumerable symbol, which keeps them out of listings and logs. */
export function attachDependencies(server: object, dependencies: ServerDependencies): void {
  Object.defineProperty(server, DEPENDENCIES, { value: dependencies })
}

/** Returns the dependencies of a server, or `null` for anything that `createS3Server` did not create. */
export function findDependencies(server: object): ServerDependencies | null {
  return (server as { [DEPENDENCIES]?: ServerDependencies } | null | undefined)?.[DEPENDENCIES] ?? null
}

/** Returns the dependencies for a job. @throws TypeError unless `createS3Server` created the server. */
export function dependenciesOf(server: object, job: string): ServerDependencies {
  const dependencies = findDependencies(server)
  if (!dependencies) {
    throw new TypeError(`${job}: the first argument must be a server returned by createS3Server().`)
  }
  return dependencies
}
