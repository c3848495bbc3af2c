import { createAttemptId, StorageError, type StorageObject, type StorageObjectStore } from '@svc/db'
import type { EventLog } from './event-log.js'
import { isRefusal } from './refusals.js'

/** The scopes that all writers share, with their limits. Only the unlimited one adopts objects, because adoption has no quota. */
export const SHARED_SCOPES = {
  'limited bytes': { maxBytes: 1200 },
  'limited files': { maxFiles: 12 },
  'limited both': { maxBytes: 1500, maxFiles: 15 },
  unlimited: {},
} as const satisfies Readonly<Record<string, { readonly maxBytes?: number; readonly maxFiles?: number }>>

type SharedScope = keyof typeof SHARED_SCOPES

const SCOPE_NAMES = ['limited bytes', 'limited files', 'limited both', 'unlimited'] as const
const KEYS = 60
export const SHARED_KEYS = Array.from({ length: KEYS }, (_, index) => `shared ${index}`)
export const at = (key: string) => ({ bucket: 'events', key })
/** Starts the `storageKey` of adopted bytes. */
export const ADOPTED = 'adopted '

/** Milliseconds that a short reservation lasts, by the clock of the stores. */
const SHORT = 4000

export interface WriterOptions {
  readonly store: StorageObjectStore
  readonly log: EventLog
  readonly clock: () => number
  readonly isOver: () => boolean
  /** Called after each successful call. */
  readonly onSuccess: () => void
}

const random = (below: number) => Math.floor(Math.random() * below)
const oneIn = (count: number) => random(count) === 0
export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/**
 * Makes one call after the other over the shared keys and logs each with its result: uploads, updates, transfers, adoptions,
 * removals, purges and repairs.
 */
export async function writeObjects(options: WriterOptions): Promise<void> {
  const write = createWrite(options)
  while (!options.isOver()) await changeAnyKey(options, write)
}

/** Logs a call and its result. Resolves to `null` if the call is refused, changes nothing, or fails with the database. */
type Write = <T>(what: string, change: string | null, call: () => Promise<T>) => Promise<T | null>

function createWrite({ log, onSuccess }: WriterOptions): Write {
  return async (what, change, call) => {
    if (change !== null) log.write({ kind: 'called', change })
    try {
      const result = await call()
      if (change !== null && result === null) log.write({ kind: 'refused', change })
      onSuccess()
      return result
    } catch (error) {
      if (isRefusal(error)) {
        log.write({ kind: 'refused', change: change ?? what })
      } else if (error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE') {
        log.write({ kind: 'unavailable', text: `${what}: ${textOf(error)}` })
        await pause(5 + random(20))
      } else {
        log.write({ kind: 'fault', text: `${what}: ${textOf(error)}` })
      }
      return null
    }
  }
}

async function changeAnyKey({ store, log, clock }: WriterOptions, write: Write): Promise<void> {
  const reference = at(SHARED_KEYS[random(KEYS)]!)
  const { key } = reference
  // Most calls aim at what is there, or they would rarely change anything. Others may have changed it meanwhile.
  const found = oneIn(4) ? null : await write('find', null, () => store.find(reference))
  const seen = found?.status === 'deleted' ? null : found
  const scope = SCOPE_NAMES.find((name) => name === seen?.scope) ?? anyScope()
  const attemptId = oneIn(2) ? seen?.attemptId : undefined
  const logChange = (row: StorageObject | null) => {
    if (row && row.status !== 'pending') log.write({ kind: 'changed', row })
  }

  switch (random(20)) {
    case 0:
    case 1: {
      const mode = oneIn(2) ? 'hard' : 'soft'
      const input = { ...reference, scope: oneIn(2) ? scope : undefined, attemptId, mode } as const
      return logChange(await write('remove', `deleted ${key}`, () => store.remove(input)))
    }
    case 2:
      return void (await write('release', null, () => store.release(reference)))
    case 3:
      return cleanUp(store, write, { scope, now: new Date(clock()) })
    case 4:
    case 5:
    case 6:
    case 7: {
      const mark = createAttemptId()
      const filename = oneIn(3) ? { filename: oneIn(2) ? null : mark } : {}
      const input = { ...reference, scope: oneIn(2) ? scope : undefined, attemptId, metadata: { mark } }
      return logChange(
        await write('update', `updated ${mark}`, () => store.update({ ...input, ...filename })),
      )
    }
    case 8:
    case 9:
    case 10:
    case 11: {
      const to = anyScope()
      const input = { ...reference, from: scope, to, attemptId, quota: SHARED_SCOPES[to] }
      return logChange(await write('transfer', `transferred ${key} to ${to}`, () => store.transfer(input)))
    }
    case 12:
    case 13: {
      const bytes = `${ADOPTED}${createAttemptId()}`
      const createdAt = new Date(clock() - random(1_000_000))
      const input = { ...reference, scope: 'unlimited', storageKey: bytes, size: random(200), createdAt }
      const adopted = await write('adopt', bytes, () => store.adopt(input))
      if (adopted && !adopted.known) logChange(adopted.object)
      return
    }
    default:
      return logChange(await upload(store, write, { key, scope, now: clock() }))
  }
}

async function cleanUp(
  store: StorageObjectStore,
  write: Write,
  { scope, now }: { readonly scope: SharedScope; readonly now: Date },
): Promise<void> {
  const limit = 1 + random(20)
  const only = oneIn(2) ? { scope } : {}
  switch (random(5)) {
    case 0:
      return void (await write('repairUsage', null, () => store.repairUsage(oneIn(2) ? scope : undefined)))
    case 1:
      return void (await write('purgeDeleted', null, () =>
        store.purgeDeleted({ before: now, limit, ...only }),
      ))
    default:
      return void (await write('purgeExpired', null, () => store.purgeExpired({ limit, ...only })))
  }
}

/** Reserves and usually confirms. Returns the active row. */
async function upload(
  store: StorageObjectStore,
  write: Write,
  { key, scope, now }: { readonly key: string; readonly scope: SharedScope; readonly now: number },
): Promise<StorageObject | null> {
  const id = createAttemptId()
  const attempt = { ...at(key), id }
  const quota = SHARED_SCOPES[scope]
  const row = await write('reserve', null, () =>
    store.reserve({
      ...{ ...attempt, scope, quota, declaredSize: random(150), overwrite: !oneIn(6) },
      expiresAt: new Date(now + (oneIn(4) ? SHORT : 3_600_000)),
      // Without one, an adoption completes the object.
      storageKey: oneIn(2) ? id : undefined,
    }),
  )
  if (!row) return null
  if (oneIn(5)) await write('setUploadId', null, () => store.setUploadId({ ...attempt, uploadId: 'upload' }))
  if (oneIn(6)) return null
  const confirm = () =>
    write('confirm', `activated ${id}`, () => store.confirm({ ...attempt, size: random(200), quota }))
  const confirmed = await confirm()
  // Like a client that repeats a call whose response was lost, and declares another size.
  return confirmed ?? (oneIn(4) ? confirm() : null)
}

function anyScope(): SharedScope {
  return SCOPE_NAMES[random(SCOPE_NAMES.length)]!
}

/** Returns an error with its cause as text. */
export function textOf(error: unknown): string {
  return `${String(error)}, ${String((error as { cause?: unknown }).cause)}`
}
