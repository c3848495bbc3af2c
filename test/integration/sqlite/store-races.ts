import { fileURLToPath } from 'node:url'
import { storeRaces } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { bundleWorker } from '../races/bundled-worker.js'
import { databaseFolder } from './files.js'

interface Extent {
  readonly processes: number
  readonly calls: number
  readonly repeats?: number
}

/** Registers races of processes on one file, which end with a kill of each process. */
export async function racesOfProcesses({ processes, calls, repeats = 1 }: Extent): Promise<void> {
  const worker = await bundleWorker(fileURLToPath(new URL('./store-races-process.ts', import.meta.url)))
  const folder = databaseFolder()
  afterAll(() => {
    worker.remove()
    folder.drop()
  })
  for (let repeat = 1; repeat <= repeats; repeat++) {
    storeRaces({
      name: `sqliteAdapter on one file, ${repeat} of ${repeats}`,
      worker: worker.file,
      createPlace: () => folder.migratedPath(false),
      open: (path) => folder.open(path),
      drop: (path) => folder.remove(path),
      ...{ processes, calls },
      test: { describe, it },
    })
  }
}
