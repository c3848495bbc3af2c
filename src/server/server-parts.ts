import type { RecordKeeper } from '../core/plugin.js'
import type { Report } from '../core/reporter.js'
import type { MultipartStorage, ObjectStorage } from '../core/object-storage.js'

/** What the endpoints and the job of one server work with. */
export interface ServerParts {
  /** Its failures are `StorageError`s. */
  readonly storage: ObjectStorage
  readonly records: RecordKeeper
  /** Where objects lie that name no bucket. */
  readonly bucket: string
  /** How long a download URL lives, in seconds. */
  readonly downloadSeconds: number
  readonly report: Report
  readonly now: () => Date
}

/** The same where the storage takes uploads in parts. */
export interface MultipartServerParts extends ServerParts {
  readonly multipart: MultipartStorage
}

/** Under this name a server keeps its parts, the same one in the ESM and the CommonJS copy of this module. */
const PARTS = Symbol.for('@svc/db/server-parts')

/** Gives a server its parts, out of sight of whoever lists or prints it. */
export function attachParts(server: object, parts: ServerParts): void {
  Object.defineProperty(server, PARTS, { value: parts })
}

/** For `cleanUp`. @throws TypeError for what `createS3Server` did not make. */
export function partsOf(server: object): ServerParts {
  const parts = (server as { [PARTS]?: ServerParts } | null | undefined)?.[PARTS]
  if (!parts) throw new TypeError('cleanUp: the first argument must be a server that createS3Server() made.')
  return parts
}
