import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isTaken } from './file-errors.js'

/** Creates a folder, and those above it, where they are missing. Once it resolves they outlive a power failure. */
export async function ensureFolderAndParents(path: string): Promise<void> {
  const topmostCreated = await mkdir(path, { recursive: true })
  if (topmostCreated === undefined) return
  for (let created = path; created.length >= topmostCreated.length; created = dirname(created)) {
    await syncFolder(dirname(created))
  }
}

/** The same in a folder that must be there: one that has vanished fails, and isn't created again. */
export async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (!isTaken(error)) throw error
  }
  // Even where it was there: whoever created it may not have come to that yet.
  await syncFolder(dirname(path))
}

/** Once it resolves, the names in the folder outlive a power failure: syncing a file keeps its bytes, not its name. */
export async function syncFolder(path: string): Promise<void> {
  // Windows opens no folder for that; NTFS keeps a journal of its names.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
