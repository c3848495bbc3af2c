import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import { accountOf } from '../account.js'
import { onPage } from './page-events.js'
import type { UploadContext } from './upload-request.js'

/** What the browser keeps of an attempt until it is confirmed or ended: the pending object, and how to go on. */
export interface KeptAttempt {
  readonly object: DbClientObject
  /** Of an upload in parts. */
  readonly uploadId?: string | undefined
  /** When its latest upload URL expires, in milliseconds of this browser's clock. */
  until: number
  /** Of an upload in parts: see `skewOf`. */
  readonly skew?: number
  /** Of an upload in parts: the size of every part but the last, in bytes. */
  partSize?: number
  /** The digest of each part that the client has begun to send, by part number; in an array once the bucket has the part. */
  digests: (string | readonly (string | undefined)[])[]
  /** What makes two uploads the same, if this one can be resumed. */
  identity?: string | false
  /** Of an upload in one PUT: the bucket may have all bytes. */
  sent?: boolean
  /** What the bucket answered last, for the server's operator. */
  failure?: Failure | undefined
  /** An abort was asked for. */
  readonly aborted?: boolean
}

/** Why the bucket has not taken the bytes. `status` is `null` if the browser could read no response. */
export interface Failure {
  readonly status: number | null
  /** At most 500 characters. */
  readonly message: string
}

/** An attempt as it is stored, with the page that wrote it. */
type StoredAttempt = KeptAttempt & { readonly page?: number }

/** The place of one attempt in the browser's storage. */
export interface Slot {
  readonly name: string
  /** Calls the API that the attempt was started at. */
  readonly request: ApiRequest
  /** Whether the attempt's account is still signed in. If not, the server doesn't know the attempt. */
  readonly isCurrent: () => boolean
  /** Returns what is there as it is stored. */
  readonly text: () => string | null | undefined
  /** Returns `null` if nothing is there, or nothing valid. */
  readonly read: () => KeptAttempt | null
  /** Whether the work on the slot holds its lock, so that no other page can resume the attempt. */
  readonly isLocked: () => boolean
  /** Whether another page wrote last, and so has resumed the attempt. With a lock, this can't happen. */
  readonly isTaken: () => boolean
  readonly write: (attempt: KeptAttempt) => void
  readonly clear: () => void
}

/** The page's own. Node.js 25 and later have one too, and print a warning when it is read. */
const storage = () => document && localStorage

/** Tells this page from others. */
const PAGE = Math.random()

/** Used where `localStorage` is missing, forbidden or full. Lasts as long as the page. */
const inMemory = new Map<string, string>()

export const textAt = (name: string) => quietly(() => inMemory.get(name) || storage().getItem(name))

/** Stores a text, or the shorter one if there is no room for it. */
export function writeText(name: string, text: string, shorter = () => text): void {
  inMemory.set(name, text)
  quietly(() => {
    storage().removeItem(name)
    try {
      storage().setItem(name, text)
    } catch {
      storage().setItem(name, shorter())
    }
    inMemory.delete(name)
  })
}

export function clearText(name: string): void {
  inMemory.delete(name)
  quietly(() => storage().removeItem(name))
}

export type KeptAttempts = ReturnType<typeof keptAttempts>

/**
 * Returns the attempts of one account at one API, which all tabs share. `prefix` identifies the account and the API.
 *
 * @throws TypeError if the account is invalid.
 * @throws S3ClientError `NETWORK_ERROR` if the application's function throws.
 */
export function keptAttempts(context: UploadContext) {
  const { base, request, account: option } = context
  const account = accountOf(option)
  const owner = JSON.stringify([base, account])
  const prefix = `@svc/db attempt ${owner} `
  const isCurrent = () => accountOf(option) === account
  const slotOf = (name: string): Slot => {
    const text = () => textAt(name)
    const read = (): StoredAttempt | null => {
      // JSON.parse reads `null` as the text.
      const attempt = quietly(() => JSON.parse(text()!) as StoredAttempt | null)
      if (!attempt || !attempt.object) return null
      if (!Array.isArray(attempt.digests) || !(attempt.partSize! > 0)) {
        attempt.digests = []
        attempt.identity = false
      }
      return attempt
    }
    return {
      name,
      request,
      isCurrent,
      text,
      read,
      isLocked: () => locked.has(name),
      isTaken: () => (read() || { page: PAGE }).page !== PAGE,
      write(attempt) {
        const textWith = (digests: unknown) => JSON.stringify({ ...attempt, page: PAGE, digests })
        // Without room for the digests, the attempt can only be ended.
        writeText(name, textWith(attempt.digests), () => textWith(0))
      },
      clear: () => clearText(name),
    }
  }
  return {
    prefix,
    account,
    /** Where the uploads that wait for their check are remembered. */
    checked: `@svc/db checked ${owner}`,
    /** Whether the account is still signed in. Throws what the application's function throws, as a `NETWORK_ERROR`. */
    isCurrent,
    slots: () => storedNames(prefix).map(slotOf),
    newSlot: () => slotOf(`${prefix}${Math.random()}`),
  }
}

/** Returns the attempt of a slot if it is the one that uploading a file with this identity resumes. */
export function resumableIn(slot: Slot, identity: KeptAttempt['identity']): KeptAttempt | undefined {
  const attempt = slot.read()
  return identity && attempt && attempt.identity === identity && !attempt.aborted ? attempt : undefined
}

function storedNames(prefix: string): string[] {
  const stored = quietly(() => Object.keys(storage())) || []
  return [...inMemory.keys(), ...stored].filter((name) => name.startsWith(prefix))
}

/** Ignores errors: storage may be missing, forbidden or full. */
export function quietly<Result>(call: () => Result): Result | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}

/** The slots that this page works on. */
const busy = new Set<string>()

/** Those of them whose lock it holds. */
const locked = new Set<string>()

/**
 * Runs `work` on a slot, unless an upload or another tab works on it. Resolves to `undefined` then. Browsers
 * have locks only on secure pages. Without them, this excludes only the work of this page.
 */
export async function inOneTab<Result>(
  { name }: Slot,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (busy.has(name)) return undefined
  busy.add(name)
  let run: Promise<Result> | undefined
  const hold = async () => {
    try {
      await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
        if (!lock) return
        locked.add(name)
        run ||= work()
        // Its result is that of the work, not of the lock.
        await run.catch(() => {})
      })
    } catch (error) {
      locked.delete(name)
      throw error
    }
  }
  const holdAgain = () => {
    if (!locked.has(name)) hold().catch(() => {})
  }
  // WebKit takes the lock of a page away that it keeps for "back", but the work goes on when the page is shown again.
  const stopListening = onPage('pageshow', holdAgain)
  try {
    await hold().catch(() => {
      // Without locks, or on a page with an opaque origin, which can't use them.
      if (run) holdAgain()
      else run = work()
    })
    return await run
  } finally {
    stopListening()
    busy.delete(name)
    locked.delete(name)
  }
}

/** Returns whether an attempt may be in progress. Without locks, another page's may be until its upload URL has expired. */
export async function mayBeInProgress({ name, isTaken }: Slot, { until }: KeptAttempt): Promise<boolean> {
  if (busy.has(name)) return true
  try {
    const { held = [] } = await navigator.locks.query()
    return held.some((lock) => lock.name === name)
  } catch {
    return isTaken() && until > Date.now()
  }
}
