import { createHash, randomUUID } from 'node:crypto'
import { link, open, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { STALLED_AFTER_MS, type ClaimWrite, type WriteClaim } from '../local/contract.js'
import type { DiskLayout } from './layout.js'
import { codeOf, isAlreadyThere, nullIfMissing, OWNER_ONLY } from './file-system.js'

/*
 * A claim is a file among the drafts, whose name is derived from what is being written. It names the process that writes,
 * and its mtime is the time of the last progress, by the clock of the file system. A claim that a killed process has left
 * is replaced at once by a process on the same host, and after STALLED_AFTER_MS by any other.
 *
 * Two processes that replace the same claim at the same moment may both write. Only one of them creates the object.
 */

const KEEP_EVERY_MS = 1000

const SELF = {
  host: hostname(),
  pid: process.pid,
  /** Distinguishes processes with the same pid, such as those of a container that has been restarted. */
  process: randomUUID() as string,
}

/** Claims writes for one of several processes that share a directory. */
export function createClaimFiles(layout: DiskLayout): ClaimWrite {
  return async (target) => {
    await layout.prepare()
    const name = createHash('sha256').update(target).digest('hex')
    const path = join(layout.drafts, `${name}.claim`)
    const draft = join(layout.drafts, randomUUID())
    const text = JSON.stringify(SELF)
    const file = await open(draft, 'wx', OWNER_ONLY)
    try {
      await file.writeFile(text)
      const { ino, mtimeMs } = await file.stat()
      if (await publishClaim(draft, path, mtimeMs)) return heldClaim(file, { path, ino, text })
      await file.close()
      return null
    } catch (error) {
      await file.close()
      throw error
    } finally {
      // If it has been renamed, it is gone already. A sweep removes it after any other failure.
      await unlink(draft).catch(() => undefined)
    }
  }
}

/** Gives the file of a claim its name. Returns `false` if another process holds the claim. */
async function publishClaim(draft: string, path: string, now: number): Promise<boolean> {
  for (;;) {
    try {
      await link(draft, path)
      return true
    } catch (error) {
      if (!isAlreadyThere(error)) throw error
    }
    const text = await nullIfMissing(readFile(path, 'utf8'))
    const stats = await nullIfMissing(stat(path))
    // Released in between.
    if (text === null || stats === null) continue
    if (now - stats.mtimeMs < STALLED_AFTER_MS && !hasExited(text)) return false
    await rename(draft, path)
    return true
  }
}

/** Returns whether a holder is known to have exited. Only a process on the same host can know. */
function hasExited(text: string): boolean {
  const holder = holderOf(text)
  if (holder?.host !== SELF.host) return false
  return holder.pid === SELF.pid ? holder.process !== SELF.process : !isRunning(holder.pid)
}

function holderOf(text: string): typeof SELF | null {
  try {
    return JSON.parse(text) as typeof SELF
  } catch {
    return null
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Any other error means that it exists and belongs to another user.
    return codeOf(error) !== 'ESRCH'
  }
}

function heldClaim(
  file: FileHandle,
  { path, ino, text }: { readonly path: string; readonly ino: number; readonly text: string },
): WriteClaim {
  let keptAt = performance.now()
  const isHeld = async () => (await nullIfMissing(stat(path)))?.ino === ino
  return {
    async keep() {
      if (performance.now() - keptAt < KEEP_EVERY_MS) return true
      keptAt = performance.now()
      // Sets the mtime by the clock of the file system, which may be on another machine.
      await file.write(text, 0)
      return isHeld()
    },

    async release() {
      try {
        if (await isHeld()) await unlink(path)
      } catch {
        // The next claim replaces it, or a sweep removes it.
      } finally {
        await file.close().catch(() => undefined)
      }
    },
  }
}
