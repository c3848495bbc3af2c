import { randomUUID } from 'node:crypto'
import { link, open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isAlreadyThere, OWNER_ONLY, syncFolder } from './file-system.js'

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
    const written = await writeDurably(file, write)
    await beforePublishing?.()
    if (replace) await rename(draft, path)
    else if (!(await linkIfAbsent(draft, path))) return null
    await syncFolder(dirname(path))
    return written
  } finally {
    // A failure here does not change the result. A sweep removes the draft later.
    await unlink(draft).catch(() => undefined)
  }
}

async function writeDurably<T>(file: FileHandle, write: AtomicFile<T>['write']): Promise<T> {
  try {
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
