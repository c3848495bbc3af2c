import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { privateFolder, type PrivateFolder } from '../servers/private-server.js'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * Returns a folder for the data of a demo. It holds an empty database, copied from one that is created once per version
 * of PGlite, because creating it takes seconds of CPU time.
 */
export async function demoFolder(): Promise<PrivateFolder> {
  const folder = await privateFolder('demo', null)
  cpSync(await emptyDatabase(), join(folder.path, 'database'), { recursive: true })
  return folder
}

async function emptyDatabase(): Promise<string> {
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
