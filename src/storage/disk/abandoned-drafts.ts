import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** No connection stays open for a day without a byte, so that nobody is writing such a draft any more. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * Removes the drafts that nobody has written to for a day: those of processes that were killed. If a writer should live
 * after all, its upload fails as a whole.
 *
 * `now` (milliseconds since 1970) is to be by the clock of the file system, as a file that was just written to has it.
 * Never rejects: who comes next tries again.
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
