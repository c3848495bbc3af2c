import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import { HOUR } from '../clock.js'
import { observed } from '../outcome.js'
import { RACE_BUCKET, RACE_SCOPE, type KeyState, type RaceMessage, type RaceTask } from './messages.js'

/** The calls that a worker makes at the same time. */
const CALLERS = 8

type Open = (place: string) => StorageObjectStore | Promise<StorageObjectStore>

/**
 * Runs this process as a worker of `storeRaces`. `open` opens a store on the place, over connections of its own and with the
 * system clock.
 *
 * @example
 * import { runRaceWorker } from '@svc/db/conformance'
 * import { postgresAdapter } from '@svc/db/postgres'
 *
 * runRaceWorker((place) => postgresAdapter(pool, { schema: place }))
 */
export function runRaceWorker(open: Open): void {
  process.once('message', (task: RaceTask) => {
    run(task, open).catch((error: unknown) => send({ kind: 'error', message: String(error) }))
  })
}

function send(message: RaceMessage): void {
  process.send?.(message)
}

async function run(task: RaceTask, open: Open): Promise<void> {
  const store = await open(task.place)
  if (task.does === 'write until killed') return writeForever(store, task.worker)
  const codes: Record<string, number> = {}
  const caller = async (first: number): Promise<void> => {
    for (let call = first; call < task.calls; call += CALLERS) {
      const code = await reserve(store, `${task.worker} ${call}`, task.maxFiles)
      codes[code] = (codes[code] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, first) => caller(first)))
  send({ kind: 'codes', codes })
}

/** Returns the code of the refusal, or `''`. */
async function reserve(store: StorageObjectStore, key: string, maxFiles: number): Promise<string> {
  const outcome = await observed(() =>
    store.reserve({
      ...{ scope: RACE_SCOPE, bucket: RACE_BUCKET, key, declaredSize: 1, quota: { maxFiles } },
      expiresAt: new Date(Date.now() + HOUR),
    }),
  )
  if ('ok' in outcome) return ''
  return 'error' in outcome ? outcome.error : String(outcome.crash)
}

/** Reports a write before and after. */
async function write<T>(keys: readonly string[], to: KeyState, call: () => Promise<T>): Promise<T> {
  send({ kind: 'start', keys, to })
  const result = await call()
  send({ kind: 'done', keys })
  return result
}

/** Each caller changes only its own keys. */
async function writeForever(store: StorageObjectStore, worker: number): Promise<void> {
  const caller = async (number: number): Promise<never> => {
    for (let turn = number; ; turn++) await ROUNDS[turn % ROUNDS.length]!(store, `${worker} ${number}`, turn)
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)))
}

/** Changes an object from nothing to nothing. `turn` counts the rounds. */
type Round = (store: StorageObjectStore, key: string, turn: number) => Promise<void>

const at = (key: string) => ({ bucket: RACE_BUCKET, key })
const attemptAt = (key: string) => ({
  ...at(key),
  scope: RACE_SCOPE,
  declaredSize: 1,
  expiresAt: new Date(Date.now() + HOUR),
})

/** Uploads, replaces and removes an object, and gives up an upload. */
const uploads: Round = async (store, key, turn) => {
  const reserve = () => store.reserve(attemptAt(key))
  await write([key], 'pending', reserve)
  await write([key], 'active', () => store.confirm({ ...at(key), size: 1 }))
  await write([key], 'active', reserve)
  await write([key], 'nothing', () => store.remove({ ...at(key), mode: turn % 2 === 0 ? 'soft' : 'hard' }))
  await write([key], 'pending', reserve)
  await write([key], 'nothing', () => store.release(at(key)))
}

/** Uploads two objects that have an end, keeps both at once, and removes them. */
const forms: Round = async (store, key) => {
  const keys = [key, `${key}, too`]
  const ids: string[] = []
  for (const each of keys) {
    const attempt = { ...attemptAt(each), temporarySeconds: 3600 }
    const { id } = await write([each], 'pending', () => store.reserve(attempt))
    await write([each], 'temporary', () => store.confirm({ ...at(each), id, size: 1 }))
    ids.push(id)
  }
  await write(keys, 'active', () => store.keep({ scope: RACE_SCOPE, objects: ids.map((id) => ({ id })) }))
  for (const each of keys) await write([each], 'nothing', () => store.remove({ ...at(each), mode: 'soft' }))
}

/** Uploads an object that is checked, and accepts or rejects it. */
const checks: Round = async (store, key, turn) => {
  const attempt = { ...attemptAt(key), storageKey: `${key}~checked`, checkSeconds: 3600 }
  const { id } = await write([key], 'pending', () => store.reserve(attempt))
  const confirm = { ...at(key), id, size: 1 }
  await write([key], 'arrived', () => store.confirm(confirm))
  if (turn % 2 === 0) return void (await write([key], 'nothing', () => store.reject({ ...at(key), id })))
  await write([key], 'active', () => store.confirm({ ...confirm, accept: true }))
  await write([key], 'nothing', () => store.remove({ ...at(key), mode: 'hard' }))
}

const ROUNDS: readonly Round[] = [uploads, forms, checks]
