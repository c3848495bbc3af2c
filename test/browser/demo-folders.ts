import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { privateFolder } from '../servers/private-server.js'
import { startDemo } from './demo-server.js'

/** Folders for the data of demos, which go with the tests, however these end. */
export interface DemoFolders {
  /** A folder of its own, as a demo leaves it that nobody has used yet. */
  fresh(): string
  /** Of a demo that has ended. */
  drop(folder: string): void
  remove(): Promise<void>
}

/** The first start in an empty folder makes a database, which takes seconds; so each folder is a copy of one such. */
export async function openDemoFolders(): Promise<DemoFolders> {
  const place = await privateFolder('demo', null)
  const prepared = join(place.path, 'prepared')
  const demo = await startDemo({ dataFolder: prepared })
  await demo.stop()
  let count = 0
  return {
    fresh() {
      const folder = join(place.path, `demo-${++count}`)
      cpSync(prepared, folder, { recursive: true })
      return folder
    },
    drop: (folder) => rmSync(folder, { recursive: true, force: true }),
    remove: () => place.remove('SIGKILL'),
  }
}
