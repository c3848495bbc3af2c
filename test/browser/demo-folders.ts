import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { emptyPglite } from '../servers/empty-pglite.js'
import { privateFolder, type PrivateFolder } from '../servers/private-server.js'

/** Returns a folder for the data of a demo, with an empty database. */
export async function demoFolder(): Promise<PrivateFolder> {
  const folder = await privateFolder('demo', null)
  cpSync(await emptyPglite(), join(folder.path, 'database'), { recursive: true })
  return folder
}
