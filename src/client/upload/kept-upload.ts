import type { Announcement } from './announcement.js'

/** What names an upload in parts in every later call. */
export interface UploadIds {
  readonly bucket: string
  readonly key: string
  readonly id: string
  readonly uploadId: string
}

/** The place of one file's ids, from which the upload of the same file goes on after a reload. */
export interface KeptUpload {
  /** Whether anybody will find what is kept here. */
  readonly lasts: boolean
  readonly read: () => UploadIds | null
  readonly keep: (ids: UploadIds) => void
  readonly forget: () => void
}

const NOWHERE: KeptUpload = { lasts: false, read: () => null, keep: () => {}, forget: () => {} }

/** Where there is no `localStorage`, or it may not be used: as long as the page lives. */
const inThisPage = new Map<string, string>()

/** What is under way in this page. */
const claimed = new Set<string>()

/**
 * Works with the place of a file's ids, of which there is one for all tabs. Whoever uploads the same file at the same
 * moment gets none, so that it is an upload of its own and neither disturbs the other.
 */
export async function withKept<Result>(
  name: string | null,
  work: (kept: KeptUpload) => Promise<Result>,
): Promise<Result> {
  if (name === null || claimed.has(name)) return work(NOWHERE)
  claimed.add(name)
  try {
    return await inOneTab(name, (granted) => work(granted ? placeOf(name) : NOWHERE))
  } finally {
    claimed.delete(name)
  }
}

/** Browsers have locks on secure pages only. Without one, two tabs share an upload: each sends what the bucket has not. */
async function inOneTab<Result>(name: string, work: (granted: boolean) => Promise<Result>): Promise<Result> {
  const locks = globalThis.navigator?.locks as LockManager | undefined
  let asked = false
  try {
    if (locks) {
      return await locks.request(name, { ifAvailable: true }, (lock) => {
        asked = true
        return work(lock !== null)
      })
    }
  } catch (error) {
    // A page without an origin of its own may not lock anything.
    if (asked) throw error
  }
  return work(true)
}

function placeOf(name: string): KeptUpload {
  return {
    lasts: true,
    read() {
      try {
        const ids = JSON.parse(stored(name) ?? 'null') as UploadIds | null
        return ids?.uploadId ? ids : null
      } catch {
        return null
      }
    },
    keep({ key, bucket, id, uploadId }) {
      const ids = JSON.stringify({ key, bucket, id, uploadId })
      try {
        localStorage.setItem(name, ids)
      } catch {
        inThisPage.set(name, ids)
      }
    },
    forget() {
      inThisPage.delete(name)
      try {
        localStorage.removeItem(name)
      } catch {
        // Then nothing was kept there.
      }
    },
  }
}

function stored(name: string): string | null {
  const here = inThisPage.get(name)
  return here ?? localStorage.getItem(name)
}

/** By all that makes an upload the same one; `null` for bytes of which nobody can tell whether they are the same again. */
export function keptName(
  base: string,
  file: Blob,
  { route, filename, size, metadata }: Announcement,
): string | null {
  // Not `instanceof`: a file may come from another frame.
  const { name, lastModified } = file as Partial<File>
  if (name === undefined || lastModified === undefined) return null
  const described = Object.entries(metadata ?? {}).sort()
  return `@svc/db upload ${JSON.stringify([base, route ?? null, filename, described, name, size, lastModified])}`
}
