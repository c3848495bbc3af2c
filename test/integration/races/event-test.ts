import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { settleTheRest } from './delivery-load.js'
import { claimsIn, faultsOf, isAbandoned } from './event-checks.js'
import { asLogged, readLog, type LoggedObject, type LogLine } from './event-log.js'
import { clockOf, logOf, type EventReport, type EventTask } from './event-task.js'
import { at, SHARED_KEYS, SHARED_SCOPES } from './object-load.js'
import { startWorkers } from './workers.js'

export const EVENT_PROCESSES = 4
const CALLERS: EventCallers = { writers: 10, claimers: 6 }
/** How much faster than time the clock of the stores runs. A claim of a second then expires after 50 ms. */
const PACE = 20
const SHOWN_FAULTS = 5

/** Concurrent callers of each process. */
export interface EventCallers {
  readonly writers: number
  readonly claimers: number
}

export interface EventTest {
  readonly connection: EventTask['connection']
  /** Calls of writers that must succeed in every process before each interruption and at the end. */
  readonly callsBetween: number
  /** Default: 10 writers and 6 claimers. */
  readonly callers?: EventCallers
  /** What happens during the load, one after the other: a worker process is killed, or the server by this function. */
  readonly interruptions: Iterable<'kill a worker' | ((processes: readonly number[]) => Promise<void>)>
  /** Opens stores over connections that were opened after the last interruption. */
  readonly inspect: (
    use: (seen: {
      readonly open: (now?: () => Date) => StorageObjectStore
      readonly findViolations: () => Promise<readonly unknown[]>
    }) => Promise<void>,
  ) => Promise<void>
}

export interface EventOutcome {
  /** Errors of the calls that failed with `DATABASE_UNAVAILABLE`. */
  readonly unavailable: readonly string[]
}

/**
 * Runs processes that write objects and deliver their events in a database with events on. Each acknowledged change must
 * have one event, events must arrive in the order of their object's changes, and quotas, owners and sums must be right.
 */
export async function expectEveryEventDelivered(test: EventTest): Promise<EventOutcome> {
  const { connection, callsBetween, callers = CALLERS, interruptions, inspect } = test
  const clock = { started: Date.now(), pace: PACE }
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-events-'))
  const workers = await startWorkers<EventTask, EventReport>(
    new URL('./event-worker.ts', import.meta.url),
    EVENT_PROCESSES,
    { ...clock, ...callers, connection, folder },
  )
  const killed: number[] = []
  let wasInterrupted = false
  try {
    for (const interruption of interruptions) {
      wasInterrupted = true
      await workers.untilMore('successes', callsBetween)
      if (interruption === 'kill a worker')
        killed.push((await workers.replace(killed.length % EVENT_PROCESSES, 'with claims')).worker)
      else await interruption(workers.pids())
      await inspect(expectInvariants)
    }
    await watch(workers.untilMore('successes', callsBetween), test)
    await workers.finish()
    const logs = Array.from({ length: EVENT_PROCESSES + killed.length }, (_, worker) =>
      readLog(logOf({ folder, worker })),
    )
    let unavailable: readonly string[] = []
    await inspect(async ({ open, findViolations }) => {
      const lines = [...logs.flat(), ...(await settleTheRest(open, clockOf(clock)))]
      unavailable = lines.flatMap((line) => (line.kind === 'unavailable' ? [line.text] : []))
      const store = open()
      const active = new Map<string, LoggedObject | null>()
      for (const key of SHARED_KEYS) active.set(key, asLogged(await store.findActive(at(key))))
      const faults = faultsOf({ lines, active, wasInterrupted })
      expect(faults.slice(0, SHOWN_FAULTS)).toEqual([])
      expectMixedLoad(lines)
      await expectInvariants({ open, findViolations })
      expect(await store.checkUsage()).toEqual([])
      expect(await store.verify()).toEqual([])
      expect(await store.listEvents()).toEqual({ items: [], next: null })
    })
    // `faultsOf` has checked that other claimers got these events.
    for (const worker of killed) expect(claimsIn(logs[worker]!).filter(isAbandoned)).not.toEqual([])
    return { unavailable }
  } finally {
    workers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks the invariants while the load runs. */
async function watch(load: Promise<void>, { inspect }: EventTest): Promise<void> {
  let isOver = false
  const end = load.finally(() => (isOver = true))
  // It is awaited below. Until then a failure must not count as an unhandled rejection.
  end.catch(() => {})
  await inspect(async (seen) => {
    while (!isOver) {
      await expectInvariants(seen)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })
  await end
}

/** Checks that no scope exceeds its limits and that no key has two owners. */
async function expectInvariants({
  open,
  findViolations,
}: Parameters<Parameters<EventTest['inspect']>[0]>[0]): Promise<void> {
  expect(await findViolations()).toEqual([])
  const store = open()
  for (const [scope, limits] of Object.entries(SHARED_SCOPES)) {
    const { bytes, files, reservedBytes, reservedFiles } = await store.getScopeUsage(scope)
    const { maxBytes, maxFiles } = { maxBytes: Infinity, maxFiles: Infinity, ...limits }
    expect(bytes + reservedBytes).toBeLessThanOrEqual(maxBytes)
    expect(files + reservedFiles).toBeLessThanOrEqual(maxFiles)
  }
}

/** Expects that the load contained what the test is about. */
function expectMixedLoad(lines: readonly LogLine[]): void {
  const claims = claimsIn(lines)
  for (const type of ['activated', 'updated', 'transferred', 'deleted']) {
    expect(claims.filter(({ event }) => event.type === type).length, type).toBeGreaterThan(0)
  }
  expect(lines.filter(({ kind }) => kind === 'refused').length, 'refused').toBeGreaterThan(0)
  expect(lines.filter(({ kind }) => kind === 'extended').length, 'extended').toBeGreaterThan(0)
  expect(claims.filter(isAbandoned).length, 'abandoned').toBeGreaterThan(0)
  expect(claims.filter(({ event }) => event.attempts > 1).length, 'claimed again').toBeGreaterThan(0)
}
