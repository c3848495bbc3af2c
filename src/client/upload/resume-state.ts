import type { UploadRequest } from './upload-request.js'

/** Identifies a multipart upload in later calls. */
export interface UploadIds {
  readonly bucket: string
  readonly key: string
  readonly id: string
  readonly uploadId: string
}

/** Stores the ids of an upload. If it is interrupted, uploading the same file again resumes it, even after a reload. */
export interface ResumeState {
  /** Whether a later upload can read what is saved here. */
  readonly isPersistent: boolean
  readonly read: () => UploadIds | null
  readonly save: (ids: UploadIds) => void
  readonly clear: () => void
}

const NO_STATE: ResumeState = { isPersistent: false, read: () => null, save: () => {}, clear: () => {} }

/** Used without `localStorage`. Lasts as long as the page. */
const inMemory = new Map<string, string>()

/** Names in use by uploads of this page. */
const claimed = new Set<string>()

/**
 * Runs `work` with the resume state of this name, which all tabs share. A concurrent upload of the same file gets no state,
 * and is therefore a separate upload.
 */
export async function withResumeState<Result>(
  name: string | null,
  work: (state: ResumeState) => Promise<Result>,
): Promise<Result> {
  if (name === null || claimed.has(name)) return work(NO_STATE)
  claimed.add(name)
  try {
    return await inOneTab(name, (granted) => work(granted ? stateOf(name) : NO_STATE))
  } finally {
    claimed.delete(name)
  }
}

/** Browsers have locks only on secure pages. Without them, two tabs share an upload, and each sends the missing parts. */
async function inOneTab<Result>(name: string, work: (granted: boolean) => Promise<Result>): Promise<Result> {
  const locks = globalThis.navigator?.locks as LockManager | undefined
  let started = false
  try {
    if (locks) {
      return await locks.request(name, { ifAvailable: true }, (lock) => {
        started = true
        return work(lock !== null)
      })
    }
  } catch (error) {
    // Pages with an opaque origin can't use locks.
    if (started) throw error
  }
  return work(true)
}

function stateOf(name: string): ResumeState {
  return {
    isPersistent: true,
    read() {
      try {
        const ids = JSON.parse(stored(name) ?? 'null') as UploadIds | null
        return ids?.uploadId ? ids : null
      } catch {
        return null
      }
    },
    save({ key, bucket, id, uploadId }) {
      const ids = JSON.stringify({ key, bucket, id, uploadId })
      try {
        localStorage.setItem(name, ids)
      } catch {
        inMemory.set(name, ids)
      }
    },
    clear() {
      inMemory.delete(name)
      try {
        localStorage.removeItem(name)
      } catch {
        // Without access, nothing was saved there.
      }
    },
  }
}

function stored(name: string): string | null {
  return inMemory.get(name) ?? localStorage.getItem(name)
}

/**
 * Returns the key of the resume state, which covers everything that makes two uploads the same. `null` for a `Blob`, which
 * has no name and time to recognize it by.
 */
export function resumeName(
  base: string,
  file: Blob,
  { route, filename, size, metadata }: UploadRequest,
): string | null {
  // Not `instanceof`, because the file may come from another frame.
  const { name, lastModified } = file as Partial<File>
  if (name === undefined || lastModified === undefined) return null
  const metadataEntries = Object.entries(metadata ?? {}).sort()
  return `@svc/db upload ${JSON.stringify([base, route ?? null, filename, metadataEntries, name, size, lastModified])}`
}
