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
  readonly write: (file: FileHandle) => Promise<T>
  /** Rejects if the file must not appear any more. Called after it has been written and synced. */
  readonly beforePublishing?: (() => Promise<void>) | undefined
}

/** Writes a file atomically and durably. Returns `null` if it exists already and isn't replaced, also beside other processes. */
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

/** Removes the drafts of killed processes, a day after their last write. `now`: milliseconds by the clock of the file system. */
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
