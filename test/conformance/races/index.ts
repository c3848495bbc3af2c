import { namesOf } from '../../../src/core/known-names.js'
import { OptionChecks } from '../../../src/core/option-checks.js'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import { holds, same, sameFields } from '../assertions.js'
import { globalRunner, type TestRunner } from '../options.js'
import { RACE_BUCKET, RACE_SCOPE, type KeyState } from './messages.js'
import { codesOf, killAfter, type LastWrites, type WriteInProgress } from './processes.js'

export interface StoreRacesOptions {
  /** Name of the adapter, for the test titles. */
  readonly name: string
  /** The file of the worker process, which calls `runRaceWorker`. Node must be able to run it: JavaScript, or with `execArgv`. */
  readonly worker: string | URL
  /** Creates an empty, migrated place in a database that other processes reach. Returns text with which `open` finds it. */
  readonly createPlace: () => string | Promise<string>
  /** Opens a store on a place, with the system clock. */
  readonly open: (place: string) => StorageObjectStore | Promise<StorageObjectStore>
  /** Closes a store that `open` returned. Default: its method `close`. */
  readonly close?: ((store: StorageObjectStore) => unknown) | null | undefined
  /** Drops a place. */
  readonly drop?: ((place: string) => unknown) | null | undefined
  /** Your test runner. Default: the globals `describe` and `it`. */
  readonly test?: TestRunner | null | undefined
  /** Number of worker processes, 2 or more. Default 4. */
  readonly processes?: number | null | undefined
  /** Calls of each process, 10 or more. Default 200. */
  readonly calls?: number | null | undefined
  /** Node options of the worker processes, such as `--import tsx`. Default: none. */
  readonly execArgv?: readonly string[] | null | undefined
}

const TIME_LIMIT = 300_000

const OPTIONS = namesOf<StoreRacesOptions>({
  ...{ name: true, worker: true, createPlace: true, open: true, close: true, drop: true },
  ...{ test: true, processes: true, calls: true, execArgv: true },
})
const checks = new OptionChecks('storeRaces')

/**
 * Registers tests that run a store in several processes at once, which calls from one process can't replace. The processes
 * fill one quota together, or write until they are killed. Needs Node.
 *
 * @throws TypeError if an option is invalid, or if `test` is absent and there is no global `describe` and `it`.
 *
 * @example
 * import { describe, it } from 'node:test'
 * import { storeRaces } from '@svc/db/conformance'
 * import { postgresAdapter } from '@svc/db/postgres'
 *
 * storeRaces({
 *   name: 'myAdapter',
 *   worker: new URL('./worker.mjs', import.meta.url),
 *   createPlace: async () => 'races',
 *   open: (place) => postgresAdapter(pool, { schema: place }),
 *   drop: async (place) => void (await pool.query(`DROP SCHEMA "${place}" CASCADE`)),
 *   test: { describe, it },
 * })
 */
export function storeRaces(options: StoreRacesOptions): void {
  const { name, drop } = checks.options(options, OPTIONS)
  const createPlace = checks.requiredFunction('createPlace', options.createPlace)
  const open = checks.requiredFunction('open', options.open)
  for (const option of ['close', 'drop'] as const) checks.function(option, options[option])
  const processes = checks.integer('processes', options.processes ?? 4, 2, Number.MAX_SAFE_INTEGER)
  const calls = checks.integer('calls', options.calls ?? 200, 10, Number.MAX_SAFE_INTEGER)
  const runner = options.test ?? globalRunner('storeRaces')
  const workers = Array.from({ length: processes }, (_, worker) => worker)

  async function withPlace(use: (place: string, store: StorageObjectStore) => Promise<void>): Promise<void> {
    const place = await createPlace()
    try {
      const store = await open(place)
      try {
        await use(place, store)
      } finally {
        await (options.close ? options.close(store) : store.close())
      }
    } finally {
      await drop?.(place)
    }
  }

  runner.describe(`${name}: ${processes} processes`, () => {
    const fill = () =>
      withPlace(async (place, store) => {
        const maxFiles = Math.floor((processes * calls) / 2)
        const tasks = workers.map((worker) =>
          codesOf(options, { does: 'fill a quota', place, worker, calls, maxFiles }),
        )
        const codes = sum(await Promise.all(tasks))
        const { '': accepted = 0, QUOTA_EXCEEDED: _, ...failed } = codes
        same(failed, {}, `calls that failed for another reason than the quota, of ${processes * calls}`)
        same(accepted, maxFiles, 'accepted reserves')
        sameFields(await store.getScopeUsage(RACE_SCOPE), {
          reservedFiles: maxFiles,
          reservedBytes: maxFiles,
        })
        await checkRows(store)
      })
    runner.it('fill one quota exactly, and every call gets its turn', fill, TIME_LIMIT)

    const kill = () =>
      withPlace(async (place, store) => {
        const killed = workers.map((worker) =>
          killAfter(calls, options, { does: 'write until killed', place, worker }),
        )
        for (const last of await Promise.all(killed)) await checkKeys(store, last)
        await checkRows(store)
      })
    runner.it('lose no acknowledged write and leave none half done when they are killed', kill, TIME_LIMIT)
  })
}

function sum(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const codes of all)
    for (const [code, count] of Object.entries(codes)) total[code] = (total[code] ?? 0) + count
  return total
}

/** A write that was in progress has happened or not, at all of its keys. */
async function checkKeys(store: StorageObjectStore, last: ReadonlyMap<string, LastWrites>): Promise<void> {
  const happened = new Map<WriteInProgress, boolean>()
  for (const [key, { acknowledged, started }] of last) {
    const state = stateOf(await store.find({ bucket: RACE_BUCKET, key }))
    if (started === null || started.to === acknowledged) {
      same(state, acknowledged, `the key "${key}"`)
      continue
    }
    const hasHappened = state === started.to
    const allowed = `${acknowledged}, or ${started.to} by the write in progress`
    holds(hasHappened || state === acknowledged, `the key "${key}": expected ${allowed}, got ${state}`)
    const isHalfDone = (happened.get(started) ?? hasHappened) !== hasHappened
    holds(!isHalfDone, `the write of ${started.keys.join(' and ')}, all of them ${started.to}, is half done`)
    happened.set(started, hasHappened)
  }
}

function stateOf(row: StorageObject | null): KeyState {
  if (row === null || row.status === 'deleted') return 'nothing'
  if (row.status === 'pending') return row.arrivedAt === null ? 'pending' : 'arrived'
  return row.temporaryUntil === null ? 'active' : 'temporary'
}

async function rowsOf(store: StorageObjectStore): Promise<readonly StorageObject[]> {
  const rows: StorageObject[] = []
  let cursor: string | undefined
  do {
    const page = await store.listByScope({ scope: RACE_SCOPE, limit: 1000, cursor })
    rows.push(...page.objects)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return rows
}

const statesOf = (rows: readonly StorageObject[]) => rows.map(({ id, status }) => `${id} ${status}`).join()

/** Compares the sums of the scope with its rows. The database may still complete a write of a process that was killed. */
async function checkRows(store: StorageObjectStore): Promise<void> {
  let rows = await rowsOf(store)
  let count: number
  let files: number
  for (;;) {
    count = await store.countByScope(RACE_SCOPE)
    files = (await store.getScopeUsage(RACE_SCOPE)).files
    const after = await rowsOf(store)
    if (statesOf(after) === statesOf(rows)) break
    rows = after
  }
  same(count, rows.length, 'countByScope, against the rows')
  same(
    files,
    rows.filter(({ status }) => status === 'active').length,
    'files of getScopeUsage, against the rows',
  )
  holds(new Set(rows.map(({ id }) => id)).size === rows.length, 'listByScope returned a row twice')
  same(await store.checkUsage(), [], 'checkUsage')
  same(await store.verify(), [], 'verify')
}
