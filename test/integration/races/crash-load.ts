import { createAttemptId, StorageError, type StorageObject, type StorageObjectStore } from '@svc/db'
import {
  EFFECTS,
  NO_ROW,
  NOTHING,
  rowOutcome,
  statesAfter,
  statesAfterLostResponse,
  type Effect,
  type KeyState,
} from './possible-states.js'
import { HOT_SCOPES, PROGRAMS, type Caller } from './programs.js'
import { emptyReport, type RaceReport, type RaceTask } from './race.js'
import { isRefusal, REFUSALS } from './refusals.js'

const BUCKET = 'crash'
const HOT_KEYS = 4
const WANTED_KEYS = 40
const CHECKS_AT_ONCE = 32
const UNAVAILABLE = 'DATABASE_UNAVAILABLE'

/** What a caller knows about a key that it alone writes for this scope. */
export interface Memory {
  readonly scope: string
  readonly key: string
  readonly maxBytes: number | null
  readonly maxFiles: number | null
  states: readonly KeyState[]
}

export interface CrashReport extends RaceReport {
  /** The calls that failed with `DATABASE_UNAVAILABLE`. Each may or may not have taken effect. */
  unavailable: string[]
  memories: Memory[]
}

/** The task of one worker process. */
export type CrashTask = Omit<RaceTask, 'program'>

export function emptyCrashReport(): CrashReport {
  return { ...emptyReport(), unavailable: [], memories: [] }
}

interface CrashCaller extends Caller {
  readonly report: CrashReport
  readonly memories: readonly Memory[]
}

const inAnHour = () => new Date(Date.now() + 3_600_000)
const randomBelow = (limit: number) => Math.floor(Math.random() * limit)

/** Waits while the server is down, so callers do not slow its restart. */
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 5 + Math.random() * 20))

/**
 * Runs a mixed load on a server that may crash at any moment: quotas at their limit, keys that all callers want,
 * expired reservations, purges and repairs. A result that the remembered states do not allow is a fault. So is any
 * error other than the contract's refusals and `DATABASE_UNAVAILABLE`.
 */
export async function runCrashLoad(
  store: StorageObjectStore,
  report: CrashReport,
  { callers, prefix, isOver }: { callers: number; prefix: string; isOver: () => boolean },
): Promise<void> {
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const caller = crashCaller(store, report, `${prefix}.${index}`)
      while (!isOver() && report.faults.length === 0) {
        const die = randomBelow(20)
        if (die === 0) await PROGRAMS.expiry(caller)
        else if (die < 6) await PROGRAMS.mix(caller)
        else await changeOneKey(caller)
      }
      report.memories.push(...caller.memories)
    }),
  )
}

/** Lets all callers reserve and release at the same time, which must succeed after the last restart. */
export async function proveThatCallsSucceed(
  store: StorageObjectStore,
  report: CrashReport,
  { callers, prefix }: { callers: number; prefix: string },
): Promise<void> {
  const proofs = Array.from({ length: callers }, async (_, index) => {
    const reference = { bucket: BUCKET, key: `${prefix}.${index} afterwards` }
    const input = { scope: reference.key, ...reference, declaredSize: 1, expiresAt: inAnHour() }
    const { id } = await store.reserve(input)
    const released = await store.release({ ...reference, id })
    if (released?.id !== id) report.faults.push(`a reservation is missing: ${reference.key}`)
  })
  for (const proof of await Promise.allSettled(proofs)) {
    if (proof.status === 'rejected') report.faults.push(`after the last restart: ${text(proof.reason)}`)
  }
}

/** Returns descriptions of acknowledged writes that are missing. */
export async function differencesFrom(
  memories: readonly Memory[],
  store: StorageObjectStore,
): Promise<string[]> {
  const differences: string[] = []
  const left = [...memories]
  const check = async () => {
    for (let memory = left.pop(); memory; memory = left.pop()) {
      const { scope, key, states } = memory
      const found = outcomeOf(onlyLive(await store.find({ bucket: BUCKET, key })), scope)
      const pending = outcomeOf(await store.findPending({ bucket: BUCKET, key }), scope)
      const possible = statesAfter(statesAfter(states, EFFECTS.find, found), EFFECTS.findPending, pending)
      if (possible.length > 0) continue
      differences.push(
        `${key} of ${scope} must be one of ${JSON.stringify(states)} (got ${found}, ${pending})`,
      )
    }
  }
  // At once, because each read through a router of sharded collections may wait.
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, check))
  return differences
}

function crashCaller(store: StorageObjectStore, report: CrashReport, name: string): CrashCaller {
  const hot: Memory[] = Object.entries(HOT_SCOPES).flatMap(([scope, limits]) =>
    Array.from({ length: HOT_KEYS }, (_, i) => ({
      scope,
      key: `${name}/${scope}/${i}`,
      ...{ maxBytes: null, maxFiles: null, ...limits },
      states: [NOTHING],
    })),
  )
  const wanted: Memory[] = Array.from({ length: WANTED_KEYS }, (_, i) => ({
    scope: name,
    key: `wanted ${i}`,
    maxBytes: null,
    maxFiles: null,
    states: [NOTHING],
  }))
  return {
    store,
    name,
    report,
    memories: [...hot, ...wanted],
    random: randomBelow,

    async attempt(what, call) {
      try {
        const result = await call
        report.acknowledged++
        return result
      } catch (error) {
        const code = error instanceof StorageError ? error.code : ''
        if (isRefusal(error)) report.refused++
        else if (code !== UNAVAILABLE) report.faults.push(`${what}: ${text(error)}`)
        else {
          report.unavailable.push(`${what}: ${text(error)}`)
          await pause()
        }
        return null
      }
    },
  }
}

/** Makes one call for one of the caller's keys and checks the result against the possible states. */
async function changeOneKey(caller: CrashCaller): Promise<void> {
  const { store, random, memories } = caller
  const isHot = random(2) === 0
  const memory = isHot ? memories[random(2 * HOT_KEYS)]! : memories[2 * HOT_KEYS + random(WANTED_KEYS)]!
  const { scope, key, maxBytes, maxFiles } = memory
  const reference = { bucket: BUCKET, key }
  const quota = { maxBytes, maxFiles }
  const { pending } = memory.states.at(-1)!
  const run = (what: string, effect: Effect, call: () => Promise<StorageObject | null>) =>
    runAndCheck(caller, memory, { what, effect, call })

  switch (random(8)) {
    case 0: {
      await run('find', EFFECTS.find, async () => onlyLive(await store.find(reference)))
      return run('findPending', EFFECTS.findPending, () => store.findPending(reference))
    }
    case 1: {
      const mode = random(2) === 0 ? 'soft' : 'hard'
      const effect = EFFECTS.remove(mode === 'soft' ? 'deleted' : 'active')
      return run('remove', effect, () => store.remove({ ...reference, scope, mode }))
    }
    case 2: {
      const id = pending?.id ?? createAttemptId()
      return run('release', EFFECTS.release(id), () => store.release({ ...reference, scope, id }))
    }
    case 3:
    case 4:
    case 5:
      if (pending) {
        const size = pending.bytes + (random(2) === 0 ? 0 : random(40))
        const { id } = pending
        return run('confirm', EFFECTS.confirm({ id, bytes: size }), () =>
          store.confirm({ ...reference, id, scope, size, quota }),
        )
      }
  }
  const attempt = { id: createAttemptId(), bytes: random(40) }
  const input = { scope, ...reference, id: attempt.id, declaredSize: attempt.bytes, expiresAt: inAnHour() }
  return run('reserve', EFFECTS.reserve(attempt), () => store.reserve({ ...input, quota }))
}

/** Makes a call, sometimes repeats it after a lost response as a client would, and updates the possible states. */
async function runAndCheck(
  { report, random }: CrashCaller,
  memory: Memory,
  { what, effect, call }: { what: string; effect: Effect; call: () => Promise<StorageObject | null> },
): Promise<void> {
  for (;;) {
    const before = memory.states
    let outcome: string
    try {
      outcome = outcomeOf(await call(), memory.scope)
      report.acknowledged++
    } catch (error) {
      const code = error instanceof StorageError ? error.code : ''
      if (code === UNAVAILABLE) {
        report.unavailable.push(text(error))
        memory.states = statesAfterLostResponse(before, effect)
        await pause()
        if (random(2) === 0) continue
        return
      }
      if (!REFUSALS.has(code)) return void report.faults.push(`${what}: ${text(error)}`)
      report.refused++
      outcome = code
    }
    const after = statesAfter(before, effect, outcome)
    if (after.length > 0) memory.states = after
    else
      report.faults.push(
        `${what} of ${memory.key} resulted in ${outcome}, which ${JSON.stringify(before)} does not allow`,
      )
    return
  }
}

/** Ignores history, which does not occupy a key. */
function onlyLive(row: StorageObject | null): StorageObject | null {
  return row?.status === 'deleted' ? null : row
}

/** Returns the row as comparable text. A row of another scope counts as none. */
function outcomeOf(row: StorageObject | null, scope: string): string {
  if (row?.scope !== scope) return NO_ROW
  const bytes = row.status === 'pending' ? row.declaredSize : row.size
  return rowOutcome(row.status, { id: row.attemptId, bytes: bytes ?? -1 })
}

function text(error: unknown): string {
  return `${String(error)}, ${String((error as { cause?: unknown }).cause)}`
}
