import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The mode of files. They contain user data, and the secret that signs URLs for them. */
export const OWNER_ONLY = 0o600

/** Creates a folder and its missing parents. Once it resolves, they survive a power failure. */
export async function ensureFolderAndParents(path: string): Promise<void> {
  const topmostCreated = await mkdir(path, { recursive: true })
  if (topmostCreated === undefined) return
  for (let created = path; created.length >= topmostCreated.length; created = dirname(created)) {
    await syncFolder(dirname(created))
  }
}

/** Creates a folder whose parent must exist: a parent that has been deleted is an error, and is not created again. */
export async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
  }
  // Also if the folder existed: its creator may not have synced the parent yet.
  await syncFolder(dirname(path))
}

/** Makes the file names in a folder survive a power failure. Syncing a file secures its bytes, but not its name. */
export async function syncFolder(path: string): Promise<void> {
  // Windows can't open a folder for this. NTFS journals file names.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Resolves to the result of a file-system call, or to `null` if its file does not exist. */
export async function nullIfMissing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

export function isAlreadyThere(error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

/** Returns the code of Node's error. Node's errors are of another realm in jest. */
export function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null | undefined)?.code
}
