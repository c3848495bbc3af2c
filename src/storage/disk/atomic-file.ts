import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isAlreadyThere, OWNER_ONLY, syncFolder } from './file-system.js'

/** Connections time out long before a day without a byte, so a draft this old has no writer any more. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000

export interface AtomicFile<T> {
  /** Its folder must exist. */
  readonly path: string
  /** The folder that holds the file while it is being written. */
  readonly drafts: string
  /** Whether an existing file is replaced. Readers that have it open keep reading its bytes. */
  readonly replace?: boolean
  /** Writes the file, and returns the result of the call. */
  readonly write: (file: FileHandle) => Promise<T>
  /** Rejects if the file must not appear any more. Called after it has been written and synced. */
  readonly beforePublishing?: (() => Promise<void>) | undefined
}

/**
 * Writes a file atomically: it appears complete or not at all, and by default never replaces an existing file, even if several
 * processes create it at once. Returns `null` if the file already exists. After any other result, the file survives a power failure.
 */
export async function writeAtomically<T>(atomic: AtomicFile<T>): Promise<T | null> {
  const { path, drafts, replace = false, write, beforePublishing } = atomic
  const draft = join(drafts, randomUUID())
  const file = await open(draft, 'wx', OWNER_ONLY)
  try {
    const written = await writeDurably(file, drafts, write)
    await beforePublishing?.()
    if (replace) await rename(draft, path)
    else if (!(await linkIfAbsent(draft, path))) return null
    await syncFolder(dirname(path))
    return written
  } finally {
    // A failure here does not change the result. removeAbandonedDrafts removes the draft later.
    await unlink(draft).catch(() => undefined)
  }
}

async function writeDurably<T>(file: FileHandle, drafts: string, write: AtomicFile<T>['write']): Promise<T> {
  try {
    await removeAbandonedDrafts(drafts, (await file.stat()).mtimeMs)
    const written = await write(file)
    await file.sync()
    return written
  } finally {
    await file.close()
  }
}

async function linkIfAbsent(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if (isAlreadyThere(error)) return false
    throw error
  }
}

/**
 * Removes drafts that have not been written to for a day, which killed processes have left. If a writer is still alive after
 * all, its upload fails as a whole. Never rejects: the next upload tries again.
 *
 * `now` is in milliseconds since 1970, by the clock of the file system: the mtime of a file that was just written.
 */
async function removeAbandonedDrafts(drafts: string, now: number): Promise<void> {
  const names = await readdir(drafts).catch((): string[] => [])
  for (const name of names) {
    const path = join(drafts, name)
    try {
      const { mtimeMs } = await stat(path)
      if (now - mtimeMs > ABANDONED_AFTER_MS) await unlink(path)
    } catch {
      // Its writer has finished, or another process has removed it.
    }
  }
}
