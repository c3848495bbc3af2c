import { readdir, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SWEEP_EVERY_MS } from '../local/contract.js'
import type { DiskLayout } from './layout.js'

/** Connections time out long before a day without a byte, so a draft this old has no writer any more. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000

/** Starts to remove what is over, at most once an hour. Nothing waits for it. */
export type StartSweep = () => void

export function createSweeps(layout: DiskLayout, now: () => Date): StartSweep {
  let sweptAt = -Infinity
  return () => {
    const time = now().getTime()
    if (Math.abs(time - sweptAt) < SWEEP_EVERY_MS) return
    sweptAt = time
    // What fails now is left to the next sweep, perhaps of another process.
    void removeAbandonedDrafts(layout).catch(() => undefined)
    void forgetRemovedNames(layout, time).catch(() => undefined)
  }
}

/** Removes the drafts of killed processes, a day after their last write. */
async function removeAbandonedDrafts({ drafts }: DiskLayout): Promise<void> {
  // The time of the last draft, by the clock of the file system, which may be on another machine.
  const { mtimeMs: time } = await stat(drafts)
  for (const name of await readdir(drafts)) {
    const path = join(drafts, name)
    try {
      const { mtimeMs } = await stat(path)
      if (time - mtimeMs > ABANDONED_AFTER_MS) await unlink(path)
    } catch {
      // Its writer has finished, or another process has removed it.
    }
  }
}

/** Forgets removed objects once nothing can be written there any more. */
async function forgetRemovedNames(layout: DiskLayout, time: number): Promise<void> {
  for await (const path of layout.removedPaths()) {
    try {
      if (Number(await readFile(path, 'utf8')) <= time) await unlink(path)
    } catch {
      // Another process has removed it.
    }
  }
}
