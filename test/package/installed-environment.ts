import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findServer } from '../servers/found-server.js'
import { repository, runProgram } from './packed-package.js'

/** The folders in `test/package/environments`, each with a `package.json` and its lock. */
export type EnvironmentName = 'oldest-peers' | 'toolchains'

export const environments = join(repository, 'test', 'package', 'environments')

/**
 * Returns the folder with the installed environment, or the reason why there is none. `TEST_ENVIRONMENT_<NAME>` may name
 * a folder in which `npm ci` was run before.
 */
export async function findEnvironment(name: EnvironmentName): Promise<string | { readonly reason: string }> {
  const found = await findServer({
    name: 'npm',
    variable: `TEST_ENVIRONMENT_${name.toUpperCase().replace('-', '_')}`,
    howToGet: `connect npm to a registry, from which it installs test/package/environments/${name}`,
    ways: [
      async () => {
        const folder = await installEnvironment(name)
        return { url: folder, from: folder, stop: async () => {} }
      },
    ],
  })
  return 'url' in found ? found.url : found
}

/**
 * Installs the packages of `test/package/environments/<name>`, a folder with a `package.json` and its lock, and returns
 * the folder that has them in `node_modules`. Keeps the result until the lock changes, because an installation takes
 * longer than the tests that need it. Runs only the install scripts that `allowScripts` permits. Tests work in folders
 * inside it, so that packages resolve from there.
 */
export async function installEnvironment(name: string): Promise<string> {
  const definition = join(environments, name)
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
    const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
    const { exitCode, output } = await runProgram(unfinished, 'npm', 'ci', ...options)
    if (exitCode !== 0) throw new Error(`npm ci failed in the environment "${name}":\n${output}`)
    await runAllowedScripts(name, unfinished)
    // Another process may have finished first. Both installed the same lock.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

async function runAllowedScripts(name: string, folder: string): Promise<void> {
  const { allowScripts = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    allowScripts?: Record<string, boolean>
  }
  const allowed = Object.keys(allowScripts).filter((packageName) => allowScripts[packageName])
  if (allowed.length === 0) return
  const { exitCode, output } = await runProgram(folder, 'npm', 'rebuild', ...allowed)
  if (exitCode !== 0) throw new Error(`npm rebuild failed in the environment "${name}":\n${output}`)
}
