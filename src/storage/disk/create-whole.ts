import { randomUUID } from 'node:crypto'
import { link, open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from './durable-folder.js'
import { isTaken } from './file-errors.js'

/** The files of users, and the secret, with which anybody could make URLs for them. */
const OWNER_ONLY = 0o600

export interface NewFile {
  /** Its folder must be there. */
  readonly path: string
  /** The folder in which it is written before it gets its path. */
  readonly drafts: string
  readonly write: (file: FileHandle) => Promise<void>
}

/**
 * Creates a file that appears whole or not at all, and only where nothing is, whoever else creates it at that moment.
 * Once it resolves to `true` it outlives a power failure; `false`: something was there. A failure leaves nothing behind.
 */
export async function createWhole(file: NewFile): Promise<boolean> {
  return throughDraft(file, (draft) => linkWhereNothingIs(draft, file.path))
}

/** The same in the place of what was there, which whoever has it open goes on reading. */
export async function replaceWhole(file: NewFile): Promise<void> {
  await throughDraft(file, async (draft) => {
    await rename(draft, file.path)
    await syncFolder(dirname(file.path))
  })
}

async function throughDraft<T>(
  { drafts, write }: NewFile,
  publish: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = join(drafts, randomUUID())
  const file = await open(draft, 'wx', OWNER_ONLY)
  try {
    await writeDurably(file, write)
    return await publish(draft)
  } finally {
    // The outcome stands all the same; a draft that stays is one of those that are removed later.
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

/** Not `rename`, which would replace what is there. */
async function linkWhereNothingIs(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
  await syncFolder(dirname(path))
  return true
}
