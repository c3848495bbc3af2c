import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { repository, runProgram } from './packed-package.js'

/**
 * Installs the packages of `test/package/environments/<name>`, a folder with a `package.json` and its lock, and returns
 * the folder that has them in `node_modules`. Keeps the result until the lock changes, because an installation takes
 * longer than the tests that need it. Tests work in folders inside it, so that packages resolve from there.
 */
export async function installEnvironment(name: string): Promise<string> {
  const definition = join(repository, 'test', 'package', 'environments', name)
  const lock = readFileSync(join(definition, 'package-lock.json'))
  const cache = join(repository, 'node_modules', '.cache', 'svc-db-environments')
  const folder = join(cache, `${name}-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder

  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(join(cache, `${name}-`))
  try {
    for (const file of ['package.json', 'package-lock.json']) {
      copyFileSync(join(definition, file), join(unfinished, file))
    }
    const { exitCode, output } = await runProgram(unfinished, 'npm', 'ci', '--no-audit', '--no-fund')
    if (exitCode !== 0) throw new Error(`npm ci failed in the environment "${name}":\n${output}`)
    // Another process may have finished first. Both installed the same lock.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}
