import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isAlreadyThere, OWNER_ONLY, syncFolder } from './file-system.js'

/** Connections time out long before a day without a byte, so a draft this old has no writer any more. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000

export interface NewFile {
  /** Its folder must exist. */
  readonly path: string
  /** The folder that holds the file while it is being written. */
  readonly drafts: string
  readonly write: (file: FileHandle) => Promise<void>
  /** Throws if the file must not appear any more. Called after it has been written and synced. */
  readonly beforePublishing?: (() => void) | undefined
}

/**
 * Creates a file atomically: it appears complete or not at all, and never replaces an existing file, even if several
 * processes create it at once. Returns `false` if the file already exists. After `true`, the file survives a power failure.
 */
export async function createAtomically(file: NewFile): Promise<boolean> {
  return throughDraft(file, (draft) => linkIfAbsent(draft, file.path))
}

/** Creates or replaces a file atomically. Readers that have the old file open keep reading its bytes. */
export async function replaceAtomically(file: NewFile): Promise<void> {
  await throughDraft(file, async (draft) => {
    await rename(draft, file.path)
    await syncFolder(dirname(file.path))
  })
}

async function throughDraft<T>(
  { drafts, write, beforePublishing }: NewFile,
  publish: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = join(drafts, randomUUID())
  const file = await open(draft, 'wx', OWNER_ONLY)
  try {
    await writeDurably(file, write)
    beforePublishing?.()
    return await publish(draft)
  } finally {
    // A failure here does not change the result. removeAbandonedDrafts removes the draft later.
    await unlink(draft).catch(() => undefined)
  }
}

async function writeDurably(file: FileHandle, write: NewFile['write']): Promise<void> {
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Uses a hard link, because `rename` would replace an existing file. */
async function linkIfAbsent(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
  } catch (error) {
    if (isAlreadyThere(error)) return false
    throw error
  }
  await syncFolder(dirname(path))
  return true
}

/**
 * Removes drafts that have not been written to for a day, which killed processes have left. If a writer is still alive after
 * all, its upload fails as a whole. Never rejects: the next upload tries again.
 *
 * `now` is in milliseconds since 1970, by the clock of the file system: the mtime of a file that was just written.
 */
export async function removeAbandonedDrafts(drafts: string, now: number): Promise<void> {
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
