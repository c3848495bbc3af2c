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

/** Each caller changes a key of its own, and reports each write before and after. */
async function writeForever(store: StorageObjectStore, worker: number): Promise<void> {
  const caller = async (number: number): Promise<never> => {
    const at = { bucket: RACE_BUCKET, key: `${worker} ${number}` }
    const write = async (to: KeyState, call: () => Promise<unknown>): Promise<void> => {
      send({ kind: 'start', key: at.key, to })
      await call()
      send({ kind: 'done', key: at.key })
    }
    for (let size = 1; ; size++) {
      const expiresAt = new Date(Date.now() + HOUR)
      const reserveKey = () => store.reserve({ ...at, scope: RACE_SCOPE, declaredSize: size, expiresAt })
      await write('pending', reserveKey)
      await write('active', () => store.confirm({ ...at, size }))
      await write('active', reserveKey)
      await write('nothing', () => store.remove({ ...at, mode: size % 2 === 0 ? 'soft' : 'hard' }))
      await write('pending', reserveKey)
      await write('nothing', () => store.release(at))
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)))
}
