import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * Returns the folder of an empty database to copy. It is created once per version of PGlite, because creating it takes seconds of
 * CPU time.
 */
export async function emptyPglite(): Promise<string> {
  const manifest = readFileSync(join(MODULES, '@electric-sql/pglite/package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  const cache = join(MODULES, '.cache', 'svc-db-tests')
  const path = join(cache, `pglite-${version}`)
  if (existsSync(path)) return path

  mkdirSync(cache, { recursive: true })
  const created = mkdtempSync(join(cache, 'new-'))
  await (await PGlite.create(join(created, 'database'))).close()
  try {
    renameSync(join(created, 'database'), path)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(path)) throw error
  }
  rmSync(created, { recursive: true, force: true })
  return path
}
