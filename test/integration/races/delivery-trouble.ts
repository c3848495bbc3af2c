import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import type { Connection } from './database.js'
import { startWorkers } from './workers.js'

export interface TroubleTask {
  readonly connection: Connection
  readonly worker: number
  /** The file in which all processes log what their handlers do. */
  readonly log: string
}

/** A handler was called, with the kind of its object, or `onError` was. */
export type TroubleLine =
  | { readonly kind: 'reported'; readonly text: string }
  | { readonly kind: string; readonly key: string; readonly attempts: number }

const PROCESSES = 3
const DOWN = 300
const HANGING = 5
const BLOCKING = 3
const OTHERS = 10
/** Objects that are imported at once. */
const IMPORTED_AT_ONCE = 50

export interface TroubleTest {
  readonly connection: Connection
  /** A store over the same database, with events on. */
  readonly store: StorageObjectStore
  /** The number of objects that a customer imports. */
  readonly imported: number
}

/**
 * Lets processes deliver events of a receiver that is down, of handlers that never return or block the event loop, and of an
 * import. The first events of others must not wait for these, each trouble is reported once, and the processes end when told to.
 */
export async function expectTroublesToBeBounded({ connection, store, imported }: TroubleTest): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-trouble-'))
  const log = join(folder, 'log.jsonl')
  writeFileSync(log, '')
  const lines = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { kind: string; key?: string; attempts?: number; text?: string })
  const startsOf = (kind: string) => lines().filter((line) => line.kind === kind)
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const adopt = async (key: string) => {
    await store.adopt({
      ...{ scope: key.split(' ')[0]!, bucket: 'files', key, storageKey: key, size: 1 },
      createdAt: new Date(),
    })
  }
  const adoptAll = async (kind: string, count: number, from = 0) => {
    for (let first = from; first < from + count; first += IMPORTED_AT_ONCE) {
      const length = Math.min(IMPORTED_AT_ONCE, from + count - first)
      await Promise.all(Array.from({ length }, (_, index) => adopt(`${kind} ${first + index}`)))
    }
  }
  const note = (kind: string) => appendFileSync(log, `${JSON.stringify({ kind })}\n`)

  await adoptAll('hangs', HANGING)
  await adoptAll('blocks', BLOCKING)
  await adoptAll('down', DOWN)
  const entry = new URL('./trouble-worker.ts', import.meta.url)
  const workers = await startWorkers<TroubleTask, object>(entry, PROCESSES, { connection, log })
  try {
    await until(() => startsOf('down').filter(({ attempts }) => attempts === 1).length === DOWN)
    note('others recorded')
    await adoptAll('blocks', BLOCKING, BLOCKING)
    await adoptAll('other', OTHERS)
    await until(() => startsOf('other').length === OTHERS)
    const all = lines()
    const since = all.findIndex(({ kind }) => kind === 'others recorded')
    const end = all.findLastIndex(({ kind }) => kind === 'other')
    // Hundreds of retries were due before.
    expect(all.slice(since, end).filter(({ kind }) => kind === 'down').length).toBeLessThan(DOWN / 2)

    for (let tenth = 0; tenth < 10; tenth++) {
      await adoptAll('import', imported / 10, (tenth * imported) / 10)
      await adopt(`late ${tenth}`)
    }
    await until(() => startsOf('import').length >= imported && startsOf('late').length >= 10)
    const handled = lines().map(({ kind }) => kind)
    expect(
      handled.slice(handled.lastIndexOf('import')).filter((kind) => kind === 'late').length,
    ).toBeLessThan(3)
    await workers.finish()
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
  expect(lost).toBeLessThanOrEqual(PROCESSES)
  const ended = /^The job ended 30 seconds after its signal aborted, while (\d+) handlers were still running/
  const abandoned = reports.map((text) => Number(ended.exec(text)?.[1] ?? 0))
  expect(abandoned.reduce((sum, handlers) => sum + handlers, 0)).toBe(HANGING)
  expect(abandoned.filter((handlers) => handlers > 0).length).toBeLessThanOrEqual(PROCESSES)
  expect(reports.length).toBe(failed + lost + abandoned.filter((handlers) => handlers > 0).length)
}
