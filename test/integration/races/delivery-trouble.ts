import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createS3Server, db, importObjects, type StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { generatedBucket } from '../../unit/server/import-objects/generated-bucket.js'
import type { Connection } from './database.js'
import { startWorkers } from './workers.js'

export interface TroubleTask {
  readonly connection: Connection
  readonly worker: number
  /** The folder with the log, and with an empty file for each gate that is open. */
  readonly folder: string
}

/** A handler was called, with the kind of its object, or `onError` was. */
export type TroubleLine =
  | { readonly kind: 'reported'; readonly text: string }
  | { readonly kind: string; readonly key: string; readonly attempts: number }

/** Handlers that wait for it go on once it is open. Retries of the receiver that is down wait for the first, the import for the second. */
export type Gate = 'others' | 'uploads'

export const logOf = (folder: string) => join(folder, 'log.jsonl')
export const gateOf = (folder: string, gate: Gate) => join(folder, gate)
export const isOpen = (folder: string, gate: Gate) => existsSync(gateOf(folder, gate))

/** Importing 100,000 objects and delivering their events takes a busy machine longer than any other test. */
export const TROUBLE_LIMIT = { timeout: 3_600_000 }

const PROCESSES = 3
const DOWN = 300
const HANGING = 5
const BLOCKING = 3
const OTHERS = 10
/** Uploads through the server of each process, while the import holds all places of its job. */
export const UPLOADS = 5

export interface TroubleTest {
  readonly connection: Connection
  /** A store over the same database, with events on. */
  readonly store: StorageObjectStore
  /** The number of objects that a customer imports. */
  readonly imported: number
}

/**
 * Lets processes deliver events of a receiver that times out, of handlers that never return or block the event loop, and of an
 * import. The first events of others must arrive while these hold as many places as they get. Each trouble is reported once, and
 * SIGTERM ends the processes.
 */
export async function expectTroublesToBeBounded({ connection, store, imported }: TroubleTest): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-trouble-'))
  writeFileSync(logOf(folder), '')
  const lines = () =>
    readFileSync(logOf(folder), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { kind: string; key?: string; attempts?: number; text?: string })
  const startsOf = (kind: string) => lines().filter((line) => line.kind === kind)
  const adoptAll = async (kind: string, count: number, from = 0) => {
    for (let number = from; number < from + count; number++) {
      const key = `${kind} ${number}`
      await store.adopt({
        ...{ scope: kind, bucket: 'files', key, storageKey: key, size: 1 },
        createdAt: new Date(),
      })
    }
  }
  const begun = performance.now()
  const print = (what: string) => console.log(`${((performance.now() - begun) / 1000).toFixed(1)} s: ${what}`)
  const reach = async (what: string, isReached: () => boolean) => {
    while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 100))
    print(what)
  }
  const open = (gate: Gate) => writeFileSync(gateOf(folder, gate), '')

  await adoptAll('hangs', HANGING)
  await adoptAll('blocks', BLOCKING)
  await adoptAll('down', DOWN)
  const entry = new URL('./trouble-worker.ts', import.meta.url)
  const workers = await startWorkers<TroubleTask, object>(entry, PROCESSES, { connection, folder })
  try {
    const firstsOfDown = () => startsOf('down').filter(({ attempts }) => attempts === 1)
    await reach('the receiver was down for each event', () => firstsOfDown().length === DOWN)
    await adoptAll('blocks', BLOCKING, BLOCKING)
    await adoptAll('other', OTHERS)
    await reach('all first events of others arrived', () => startsOf('other').length === OTHERS)
    open('others')

    const { storage } = generatedBucket(imported)
    const s3 = createS3Server({
      storage,
      bucket: 'files',
      plugins: [db({ client: store, resolveScope: () => null })],
    })
    const importAll = async () => {
      const result = await importObjects(s3, {
        select: ({ key }) => ({ scope: 'import', key: `import ${key}` }),
      })
      expect(result).toMatchObject({ imported, failed: [] })
      print(`${imported} objects were imported`)
    }
    const uploads = PROCESSES * UPLOADS
    const areDelivered = () => startsOf('upload').length === uploads
    await Promise.all([importAll(), reach('the events of all uploads arrived', areDelivered)])
    // Each place of a job holds one.
    expect((await store.countEvents()).waiting).toBeGreaterThan(imported / 2)
    open('uploads')
    const keysOf = (kind: string) => new Set(startsOf(kind).map(({ key }) => key))
    await reach('the events of the import arrived', () => keysOf('import').size === imported)
    await workers.finish()
    await workers.exited()
    print('SIGTERM ended all processes')
    expectReports(lines())
  } finally {
    workers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function expectReports(lines: readonly { kind: string; text?: string; key?: string }[]): void {
  const reports = lines.flatMap(({ kind, text }) => (kind === 'reported' ? [text!] : []))
  const count = (pattern: RegExp) => reports.filter((text) => pattern.test(text)).length
  const failed = count(/^The receiver does not respond/)
  expect(failed).toBe(lines.filter(({ kind }) => kind === 'down').length)
  const lost = count(/^Claims of events were lost/)
  // The job of a process and its server count their own.
  expect(lost).toBeLessThanOrEqual(2 * PROCESSES)
  const long = reports.filter((text) => / has been running for 10 minutes/.test(text))
  expect(new Set(long).size).toBe(long.length)
  const ended = /^The job ended 30 seconds after its signal aborted, while (\d+) handlers were still running/
  const abandoned = reports.map((text) => Number(ended.exec(text)?.[1] ?? 0))
  expect(abandoned.reduce((sum, handlers) => sum + handlers, 0)).toBe(HANGING)
  expect(abandoned.filter((handlers) => handlers > 0).length).toBeLessThanOrEqual(PROCESSES)
  const known = failed + lost + long.length + abandoned.filter((handlers) => handlers > 0).length
  expect(reports.length).toBe(known)
}
