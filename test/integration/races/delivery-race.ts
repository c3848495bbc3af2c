import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import type { Connection } from './database.js'
import { startWorkers } from './workers.js'

export interface DeliveryTask {
  readonly connection: Connection
  readonly worker: number
  /** The file in which the process logs what its handlers do. */
  readonly log: string
  readonly claimSeconds: number
}

interface HandlerLine {
  readonly id: string
  readonly attempts: number
  /** The process that runs the handler. */
  readonly pid: number
  readonly key: string
  /** Type and attempt of the change. */
  readonly name: string
}

export type DeliveryLine =
  | ({ readonly kind: 'started' | 'returned' | 'threw' } & HandlerLine)
  | { readonly kind: 'reported'; readonly text: string }

const PROCESSES = 3
/** Longer than a busy machine delays a process that extends its claims. */
const CLAIM_SECONDS = 10
const KEYS = Array.from({ length: 12 }, (_, index) => `key ${index}`)

export interface DeliveryTest {
  readonly connection: DeliveryTask['connection']
  /** A store over the same database, with events on. */
  readonly store: StorageObjectStore
  readonly changesPerKey: number
}

/**
 * Lets processes deliver the events of objects that change meanwhile, and kills two of them. Every event must arrive, in the
 * order of its object, and twice only if a process died or a handler threw.
 */
export async function expectDeliveryByAll(test: DeliveryTest): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-delivery-'))
  // One log of all processes, so its lines are in the order in which they were written.
  const log = join(folder, 'log.jsonl')
  writeFileSync(log, '')
  const workers = await startWorkers<DeliveryTask, object>(
    new URL('./delivery-worker.ts', import.meta.url),
    PROCESSES,
    { connection: test.connection, log, claimSeconds: CLAIM_SECONDS },
  )
  try {
    const half = Math.ceil(test.changesPerKey / 2)
    const changes = await changeAll(test.store, half)
    const deaths = ['in a handler', 'before settling'].map((when, index) => workers.replace(index, when))
    const more = await changeAll(test.store, half, changes)
    const dead = new Set((await Promise.all(deaths)).map(({ pid }) => pid))
    while (await hasEvents(test.store)) await new Promise((resolve) => setTimeout(resolve, 50))
    await workers.finish()
    expectInOrder(readFileSync(log, 'utf8'), more, dead)
  } finally {
    workers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function hasEvents(store: StorageObjectStore): Promise<boolean> {
  const { waiting, claimed, retrying } = await store.countEvents()
  return waiting + claimed + retrying > 0
}

type Changes = ReadonlyMap<string, readonly string[]>

/** Changes every object this often, and returns the names of all its changes in order. */
async function changeAll(store: StorageObjectStore, times: number, before?: Changes): Promise<Changes> {
  const changes = KEYS.map(async (key): Promise<[string, readonly string[]]> => {
    const names = [...(before?.get(key) ?? [])]
    for (let i = 0; i < times; i++) names.push(await changeOne(store, key))
    return [key, names]
  })
  return new Map(await Promise.all(changes))
}

async function changeOne(store: StorageObjectStore, key: string): Promise<string> {
  const at = { bucket: 'files', key }
  if (Math.random() < 0.25) {
    const removed = await store.remove({ ...at, mode: 'hard' })
    if (removed) return `deleted ${removed.attemptId}`
  }
  const id = createAttemptId()
  const expiresAt = new Date(Date.now() + 60_000)
  await store.reserve({ id, scope: 'ann', ...at, declaredSize: 1, expiresAt, overwrite: true })
  await store.confirm({ ...at, id, size: 1 })
  return `activated ${id}`
}

function expectInOrder(log: string, changes: Changes, dead: ReadonlySet<number>): void {
  const lines = log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as DeliveryLine)
  const reported = lines.flatMap((line) => (line.kind === 'reported' ? [line.text] : []))
  const handled = lines.filter((line) => line.kind !== 'reported')
  const threw = handled.filter(({ kind }) => kind === 'threw')
  expect(reported).toEqual(threw.map(() => 'Error: The handler failed.'))

  for (const [key, names] of changes) {
    const ofKey = handled.filter((line) => line.key === key)
    const returned = ofKey.filter(({ kind }) => kind === 'returned').map(({ name }) => name)
    // A second delivery follows the first one directly, before the next event of the object.
    expect(returned.filter((name, index) => name !== returned[index - 1])).toEqual(names)
    // Handlers of one object never overlap: where one starts, the last one has ended, or died with its process.
    const overlaps = ofKey.filter(({ kind, id }, index) => {
      const last = ofKey[index - 1]
      return kind === 'started' && last?.kind === 'started' && last.id !== id
    })
    expect(overlaps).toEqual([])
  }
  const again = handled.filter(({ kind, attempts }) => kind === 'started' && attempts > 1)
  // Only a handler that threw, or the death of its process, makes an event come again. A claim that was lost otherwise is a bug.
  const withoutReason = again.filter(({ id, attempts }) => {
    const before = handled.filter((line) => line.id === id && line.attempts === attempts - 1)
    return before.some(({ pid }) => !dead.has(pid)) && !before.some(({ kind }) => kind === 'threw')
  })
  expect(withoutReason).toEqual([])
  expect(again).not.toEqual([])
}
