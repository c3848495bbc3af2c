import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isAlreadyThere, OWNER_ONLY, syncFolder } from './file-system.js'

/** Connections time out long before a day without a byte, so a draft this old has no writer any more. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000

/** Writes a file, and returns what the call returns. */
type WriteFile<T> = (file: FileHandle) => Promise<T>

/** Rejects if a file must not appear any more. Called after it has been written and synced. */
type BeforePublishing = (() => Promise<void>) | undefined

/**
 * Creates a file atomically: it appears complete or not at all, and never replaces an existing file, even if several
 * processes create it at once. Returns `null` if the file already exists. After any other result, the file survives a power failure.
 *
 * The folder of `path` must exist. `drafts` is the folder that holds the file while it is being written.
 */
export function createAtomically<T>(
  path: string,
  drafts: string,
  write: WriteFile<T>,
  beforePublishing?: BeforePublishing,
): Promise<T | null> {
  return throughDraft(drafts, write, beforePublishing, async (draft, written) => {
    try {
      // `rename` would replace an existing file.
      await link(draft, path)
    } catch (error) {
      if (isAlreadyThere(error)) return null
      throw error
    }
    await syncFolder(dirname(path))
    return written
  })
}

/** Creates or replaces a file atomically. Readers that have the old file open keep reading its bytes. */
export function replaceAtomically<T>(
  path: string,
  drafts: string,
  write: WriteFile<T>,
  beforePublishing?: BeforePublishing,
): Promise<T> {
  return throughDraft(drafts, write, beforePublishing, async (draft, written) => {
    await rename(draft, path)
    await syncFolder(dirname(path))
    return written
  })
}

async function throughDraft<T, Result>(
  drafts: string,
  write: WriteFile<T>,
  beforePublishing: BeforePublishing,
  publish: (draft: string, written: T) => Promise<Result>,
): Promise<Result> {
  const draft = join(drafts, randomUUID())
  const file = await open(draft, 'wx', OWNER_ONLY)
  try {
    const written = await writeDurably(file, drafts, write)
    await beforePublishing?.()
    return await publish(draft, written)
  } finally {
    // A failure here does not change the result. removeAbandonedDrafts removes the draft later.
    await unlink(draft).catch(() => undefined)
  }
}

async function writeDurably<T>(file: FileHandle, drafts: string, write: WriteFile<T>): Promise<T> {
  try {
    await removeAbandonedDrafts(drafts, (await file.stat()).mtimeMs)
    const written = await write(file)
    await file.sync()
    return written
  } finally {
    await file.close()
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
