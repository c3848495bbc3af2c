import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Keeps a second process out of a folder until this one exits. PGlite doesn't detect one, and the two would corrupt its files.
 * @throws Error that names the other process.
 */
export async function lockFolder(folder) {
  const path = join(folder, 'process.pid')
  const other = Number(await readFile(path, 'utf8').catch(() => 0))
  if (isRunning(other)) {
    throw new Error(
      `Process ${other} uses ${folder}. Stop it, set DATA_DIR to another folder, or delete ${path} if it is no demo.`,
    )
  }
  // Of a process that was killed.
  await rm(path, { force: true })
  const file = await open(path, 'wx')
  await file.writeFile(String(process.pid))
  await file.close()
  return () => rm(path, { force: true })
}

function isRunning(pid) {
  if (pid === 0 || Number.isNaN(pid)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
