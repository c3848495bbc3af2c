import { createAttemptId, StorageError, type StorageObject, type StorageObjectStore } from '@svc/db'
import {
  EFFECTS,
  NO_ROW,
  NOTHING,
  rowOutcome,
  statesAfter,
  statesAfterSilence,
  type Effect,
  type KeyState,
} from './possible-states.js'
import { HOT_SCOPES, PROGRAMS, type Caller } from './programs.js'
import { emptyReport, type RaceReport } from './race.js'

const BUCKET = 'crash'
const HOT_KEYS = 4
const WANTED_KEYS = 40
const REFUSALS = new Set(['KEY_CONFLICT', 'QUOTA_EXCEEDED', 'OBJECT_NOT_FOUND'])
const UNANSWERED = 'DATABASE_UNAVAILABLE'

/** What a caller was told about a key that it writes to for this scope alone. */
export interface Memory {
  readonly scope: string
  readonly key: string
  readonly maxBytes: number | null
  readonly maxFiles: number | null
  states: readonly KeyState[]
}

export interface CrashReport extends RaceReport {
  /** Calls that found no server, or lost it: whether they did anything nobody was told. */
  unanswered: number
  memories: Memory[]
}

export function emptyCrashReport(): CrashReport {
  return { ...emptyReport(), unanswered: 0, memories: [] }
}

interface CrashCaller extends Caller {
  readonly report: CrashReport
  readonly memories: readonly Memory[]
}

const inAnHour = () => new Date(Date.now() + 3_600_000)
const randomBelow = (limit: number) => Math.floor(Math.random() * limit)

/** For a server that is away: callers that asked at once and again would only be in its way. */
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 5 + Math.random() * 20))

/**
 * The mixed load on a server that may die at any moment, until told to stop: quotas at their edge, keys that all callers
 * want, lapses, purges and repairs. An answer that the states remembered don't allow is a fault, and so is any error
 * but the contract's refusals and `DATABASE_UNAVAILABLE`.
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
        if (die === 0) await PROGRAMS.lapses(caller)
        else if (die < 6) await PROGRAMS.mix(caller)
        else await changeOneKey(caller)
      }
      report.memories.push(...caller.memories)
    }),
  )
}

/** Each of the callers at once reserves and releases, which nothing may disturb any more. */
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
    if (released?.id !== id) report.faults.push(`a reservation was not there: ${reference.key}`)
  })
  for (const proof of await Promise.allSettled(proofs)) {
    if (proof.status === 'rejected') report.faults.push(`after the last restart: ${text(proof.reason)}`)
  }
}

/** Sentences about what was acknowledged and isn't there. */
export async function differencesFrom(
  memories: readonly Memory[],
  store: StorageObjectStore,
): Promise<string[]> {
  const differences: string[] = []
  for (const { scope, key, states } of memories) {
    const found = answerOfRow(onlyLive(await store.find({ bucket: BUCKET, key })), scope)
    const pending = answerOfRow(await store.findPending({ bucket: BUCKET, key }), scope)
    const left = statesAfter(statesAfter(states, EFFECTS.find, found), EFFECTS.findPending, pending)
    if (left.length > 0) continue
    differences.push(`${scope} was told ${JSON.stringify(states)} of ${key}: ${found}, ${pending}`)
  }
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
        if (REFUSALS.has(code)) report.refused++
        else if (code !== UNANSWERED) report.faults.push(`${what}: ${text(error)}`)
        else {
          report.unanswered++
          await pause()
        }
        return null
      }
    },
  }
}

/** One call for one of the caller's keys, its answer held against what may be there. */
async function changeOneKey(caller: CrashCaller): Promise<void> {
  const { store, random, memories } = caller
  const isHot = random(2) === 0
  const memory = isHot ? memories[random(2 * HOT_KEYS)]! : memories[2 * HOT_KEYS + random(WANTED_KEYS)]!
  const { scope, key, maxBytes, maxFiles } = memory
  const reference = { bucket: BUCKET, key }
  const quota = { maxBytes, maxFiles }
  const { pending } = memory.states.at(-1)!
  const ask = (what: string, effect: Effect, call: () => Promise<StorageObject | null>) =>
    answer(caller, memory, { what, effect, call })

  switch (random(8)) {
    case 0: {
      await ask('find', EFFECTS.find, async () => onlyLive(await store.find(reference)))
      return ask('findPending', EFFECTS.findPending, () => store.findPending(reference))
    }
    case 1: {
      const mode = random(2) === 0 ? 'soft' : 'hard'
      const effect = EFFECTS.remove(mode === 'soft' ? 'deleted' : 'active')
      return ask('remove', effect, () => store.remove({ ...reference, scope, mode }))
    }
    case 2: {
      const id = pending?.id ?? createAttemptId()
      return ask('release', EFFECTS.release(id), () => store.release({ ...reference, scope, id }))
    }
    case 3:
    case 4:
    case 5:
      if (pending) {
        const size = pending.bytes + (random(2) === 0 ? 0 : random(40))
        const { id } = pending
        return ask('confirm', EFFECTS.confirm({ id, bytes: size }), () =>
          store.confirm({ ...reference, id, scope, size, quota }),
        )
      }
  }
  const attempt = { id: createAttemptId(), bytes: random(40) }
  const input = { scope, ...reference, id: attempt.id, declaredSize: attempt.bytes, expiresAt: inAnHour() }
  return ask('reserve', EFFECTS.reserve(attempt), () => store.reserve({ ...input, quota }))
}

/** Asks, and after no answer perhaps the same again, as a client would; remembers what may be there then. */
async function answer(
  { report, random }: CrashCaller,
  memory: Memory,
  { what, effect, call }: { what: string; effect: Effect; call: () => Promise<StorageObject | null> },
): Promise<void> {
  for (;;) {
    const before = memory.states
    let said: string
    try {
      said = answerOfRow(await call(), memory.scope)
      report.acknowledged++
    } catch (error) {
      const code = error instanceof StorageError ? error.code : ''
      if (code === UNANSWERED) {
        report.unanswered++
        memory.states = statesAfterSilence(before, effect)
        await pause()
        if (random(2) === 0) continue
        return
      }
      if (!REFUSALS.has(code)) return void report.faults.push(`${what}: ${text(error)}`)
      report.refused++
      said = code
    }
    const after = statesAfter(before, effect, said)
    if (after.length > 0) memory.states = after
    else report.faults.push(`${what} of ${memory.key} answered ${said} on ${JSON.stringify(before)}`)
    return
  }
}

/** History doesn't hold a key. */
function onlyLive(row: StorageObject | null): StorageObject | null {
  return row?.status === 'deleted' ? null : row
}

/** Another scope's row is none. */
function answerOfRow(row: StorageObject | null, scope: string): string {
  if (row?.scope !== scope) return NO_ROW
  const bytes = row.status === 'pending' ? row.declaredSize : row.size
  return rowOutcome(row.status, { id: row.attemptId, bytes: bytes ?? -1 })
}

function text(error: unknown): string {
  return `${String(error)}, ${String((error as { cause?: unknown }).cause)}`
}
