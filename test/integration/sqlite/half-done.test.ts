import { fileURLToPath } from 'node:url'
import { storeRaces } from '@svc/db/conformance'
import { afterAll, expect, it } from 'vitest'
import { bundleWorker } from '../races/bundled-worker.js'
import { databaseFolder } from './files.js'

const worker = await bundleWorker(fileURLToPath(new URL('./half-kept-process.ts', import.meta.url)))
const folder = databaseFolder()
afterAll(() => {
  worker.remove()
  folder.drop()
})

/** Returns the cases of `storeRaces` over the broken store, by their titles. */
function casesOfRaces(): ReadonlyMap<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>()
  storeRaces({
    name: 'a store that keeps objects one by one',
    worker: worker.file,
    createPlace: () => folder.migratedPath(false),
    open: (path) => folder.open(path),
    drop: (path) => folder.remove(path),
    ...{ processes: 2, calls: 200 },
    test: { describe: (_, register) => register(), it: (title, run) => void cases.set(title, run) },
  })
  return cases
}

it('storeRaces rejects a store of which a kill leaves a keep of two objects half done, and only for that', async () => {
  const { 'fill one quota exactly, and every call gets its turn': fill, ...others } =
    Object.fromEntries(casesOfRaces())
  await fill!()
  const [kill, ...more] = Object.values(others)
  expect(more).toEqual([])
  await expect(kill!()).rejects.toThrow(/^the write of \S+ \S+ and .*, all of them active, is half done/)
})
