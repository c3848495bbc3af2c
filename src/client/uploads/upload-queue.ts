import { accountOf, knownAccount } from '../account.js'
import { abortWith } from '../call-options.js'
import { PAUSED, S3ClientError } from '../client-error.js'
import { contextOf } from '../client-parts.js'
import type { S3Api, UploadRules } from '../create-client.js'
import { MULTIPART_MIN_SIZE } from '../upload/sizes.js'
import {
  createUploadRequest,
  identityOf,
  type UploadOptions,
  type UploadRequest,
} from '../upload/upload-request.js'
import { refusalBy } from './accepted.js'
import { createNotices } from './notices.js'
import type {
  QueuedUpload,
  QueuedUploadState,
  UploadQueue,
  UploadQueueOptions,
  UploadQueueSnapshot,
} from './queued-upload.js'
import { createSpeed } from './speed.js'

interface Item {
  readonly file: Blob
  readonly options: UploadOptions
  readonly request: UploadRequest
  /** Who was signed in when the file was added. `undefined`: unknown. */
  owner: string | null | undefined
  /** What snapshots show. Replaced with each change. */
  shown: QueuedUpload
  /** Ends the call in progress, which may go on for a moment after that. */
  run?: AbortController | undefined
  /** A pause came while the server verified the bytes. It takes effect if some of them have to be sent again. */
  isPausedLater?: boolean
  /** Whether the rules of the server have been applied, as far as they are known. */
  isChecked?: boolean
  /** Whether a paused upload may have left parts at the server. */
  hasBegun?: boolean
}

/** States of a call that an abort stops at once. */
const STOPPABLE: readonly QueuedUploadState[] = ['uploading', 'waiting']

/** States in which the outcome of the call is what the file becomes. */
const ACTIVE: readonly QueuedUploadState[] = [...STOPPABLE, 'confirming']

/** How long files wait for the rules of the server. */
const RULES_LIMIT = { timeoutSeconds: 10 }

/**
 * Creates a queue that uploads files a few at a time, for pages that list them with their progress. `subscribe` and `getSnapshot` fit
 * React's `useSyncExternalStore`. Files that break the rules of the server fail at once, with the codes of the server.
 *
 * @throws TypeError if `concurrency` is not an integer from 1 to 6.
 *
 * @example
 * import { createUploadQueue } from '@svc/db/uploads'
 *
 * const queue = createUploadQueue(api, { route: 'photos' })
 * input.onchange = () => queue.add(input.files ?? [])
 * const { items, secondsLeft } = useSyncExternalStore(queue.subscribe, queue.getSnapshot, queue.getSnapshot)
 */
export function createUploadQueue(
  api: Pick<S3Api, 'upload' | 'uploadRules'>,
  { concurrency, ...queueOptions }: UploadQueueOptions = {},
): UploadQueue {
  const most = concurrency ?? 3
  if (![1, 2, 3, 4, 5, 6].includes(most)) {
    throw new TypeError(`concurrency must be an integer from 1 to 6 (got ${most}).`)
  }
  const context = contextOf(api)
  const items = new Map<string, Item>()
  /** The items that are `queued`. Without it, each end would look at all files. */
  const line = new Set<Item>()
  const rules = new Map<Item['owner'], Promise<Readonly<Record<string, UploadRules>>>>()
  const speed = createSpeed()
  const notices = createNotices()
  let ids = 0
  let running = 0
  /** Whether `pause()` holds back what is added. */
  let isHeld = false
  let snapshot: UploadQueueSnapshot | undefined

  const changed = () => {
    snapshot = undefined
    notices.give()
  }
  const become = (item: Item, state: QueuedUploadState, changes: Partial<QueuedUpload> = {}) => {
    const { error: _past, ...shown } = item.shown
    item.shown = { ...shown, ...changes, state }
    if (state === 'queued') line.add(item)
    else line.delete(item)
    changed()
  }
  const fail = (item: Item, error: unknown) => become(item, 'failed', { error: asClientError(error) })
  const park = (item: Item) => become(item, 'paused', { loaded: keepsParts(item) ? item.shown.loaded : 0 })
  const idle = () => (isHeld ? 'paused' : 'queued')
  const account = context && context.account

  /** Starts what there is room for. */
  function work(): void {
    for (const item of line) {
      if (running >= most) return
      if (item.isChecked && !item.run) start(item)
    }
    if (!running) speed.reset()
  }

  /** Fails the files that break the rules, which are asked for once for each account. */
  async function check(added: readonly Item[], owner: Item['owner']): Promise<void> {
    // Where this fails, the server decides.
    const asked =
      rules.get(owner) ||
      api.uploadRules(RULES_LIMIT).then(
        ({ routes }) => routes,
        () => ({}),
      )
    rules.set(owner, asked)
    const routes = await asked
    for (const item of added) {
      const refusal = refusalBy(routes, item.request)
      item.isChecked = true
      if (refusal && isIdle(item)) fail(item, refusal)
    }
    work()
  }

  function start(item: Item): void {
    try {
      const current = accountOf(account)
      if (item.owner === undefined) item.owner = current
      // Otherwise the file would become the other account's.
      if (item.owner !== current) throw new S3ClientError('ABORTED', 'another account has signed in.')
    } catch (error) {
      return fail(item, error)
    }
    item.run = new AbortController()
    item.hasBegun = true
    item.isPausedLater = false
    running += 1
    become(item, 'uploading', { loaded: keepsParts(item) ? item.shown.loaded : 0 })
    void send(item, item.run)
  }

  async function send(item: Item, run: AbortController): Promise<void> {
    const { signal, onProgress, onState } = item.options
    const stop = () => abortWith(run, signal!.reason)
    if (signal) signal.addEventListener('abort', stop)
    if (signal && signal.aborted) stop()
    /** What this call has reported, first of what it compares and then of what it sends. */
    let reported = 0
    let isSending = false
    try {
      const object = await api.upload(item.file, {
        ...item.options,
        signal: run.signal,
        onProgress(progress) {
          const { loaded } = progress
          if (isSending) speed.add(loaded - reported)
          reported = loaded
          const known = isSending ? loaded : Math.max(loaded, item.shown.loaded)
          if (!run.signal.aborted) become(item, item.shown.state, { loaded: known })
          if (onProgress) onProgress(progress)
        },
        onState(state) {
          if (state === 'sending') isSending = true
          if (!run.signal.aborted) {
            if (state === 'sending') become(item, 'uploading', { loaded: reported })
            else become(item, state)
            if (state === 'sending' && item.isPausedLater) pauseItem(item)
          }
          if (onState) onState(state)
        },
      })
      become(item, 'done', { object, loaded: item.shown.size })
    } catch (error) {
      // Otherwise it has been paused or cancelled.
      if (ACTIVE.includes(item.shown.state)) {
        if (codeOf(error) === 'PAUSED') park(item)
        else fail(item, error)
      }
    } finally {
      if (signal) signal.removeEventListener('abort', stop)
      item.run = undefined
      running -= 1
      work()
    }
  }

  /** Ends what a paused upload has left at the server. */
  function discard({ file, options }: Item): void {
    if (!context) return
    import('../upload/upload.js')
      .then(({ discardUpload }) => discardUpload(context, file, options))
      // The next upload settles it.
      .catch(() => {})
  }

  function pauseItem(item: Item): void {
    const { run, shown } = item
    item.isPausedLater = shown.state === 'confirming'
    if (shown.state !== 'queued' && !STOPPABLE.includes(shown.state)) return
    park(item)
    if (run) abortWith(run, PAUSED)
  }

  function cancelItem(item: Item): void {
    const { run, shown } = item
    if (shown.state === 'done' || shown.state === 'failed') return
    const mayHaveParts = item.hasBegun && isIdle(item) && keepsParts(item)
    // While the server verifies the bytes, only the outcome tells.
    if (shown.state !== 'confirming') {
      become(item, 'failed', { loaded: 0, error: new S3ClientError('ABORTED', 'cancelled.') })
    }
    if (run) abortWith(run, undefined)
    if (mayHaveParts) discard(item)
  }

  /** Calls `apply` for one item or all, then starts what there is room for. */
  function forEach(id: string | undefined, apply: (item: Item) => void): void {
    const item = id === undefined ? undefined : items.get(id)
    for (const each of id === undefined ? items.values() : item ? [item] : []) apply(each)
    work()
  }

  return {
    add(files, options) {
      const merged = { ...queueOptions, ...options }
      // If it is unknown, it becomes known when the upload starts.
      const owner = knownAccount(account)
      const added = (isSeveral(files) ? [...files] : [files]).map((file): Item => {
        const request = createUploadRequest(file, merged)
        const { filename, size } = request
        const shown: QueuedUpload = { id: String(++ids), filename, size, loaded: 0, state: idle() }
        return { file, options: merged, request, owner, shown }
      })
      for (const item of added) {
        items.set(item.shown.id, item)
        if (!isHeld) line.add(item)
      }
      if (added.length) {
        changed()
        void check(added, owner)
      }
      return added.map(({ shown }) => shown.id)
    },
    pause(id) {
      if (id === undefined) isHeld = true
      forEach(id, pauseItem)
    },
    resume(id) {
      if (id === undefined) isHeld = false
      forEach(id, (item) => {
        item.isPausedLater = false
        if (item.shown.state === 'paused') become(item, 'queued')
      })
    },
    retry: (id) => forEach(id, (item) => item.shown.state === 'failed' && become(item, idle())),
    cancel: (id) => forEach(id, cancelItem),
    remove(id) {
      forEach(id, cancelItem)
      if (items.delete(id)) changed()
    },
    subscribe: notices.subscribe,
    getSnapshot: () =>
      (snapshot ||= snapshotOf(
        [...items.values()].map(({ shown }) => shown),
        speed.now(),
      )),
  }
}

function snapshotOf(items: readonly QueuedUpload[], speed: number): UploadQueueSnapshot {
  let [size, loaded, left] = [0, 0, 0]
  for (const item of items) {
    if (item.state === 'failed') continue
    size += item.size
    loaded += item.loaded
    if (item.state !== 'paused') left += item.size - item.loaded
  }
  const ofAll = loaded < size ? null : 0
  return { items, size, loaded, secondsLeft: left === 0 ? ofAll : speed > 0 ? Math.ceil(left / speed) : null }
}

function isIdle({ shown: { state } }: Item): boolean {
  return state === 'queued' || state === 'paused'
}

/** Returns whether an upload goes on where it was paused, and doesn't begin again. */
function keepsParts({ file, request }: Item): boolean {
  return file.size >= MULTIPART_MIN_SIZE && identityOf(file, request) !== false
}

function isSeveral(files: Blob | Iterable<Blob>): files is Iterable<Blob> {
  return Symbol.iterator in Object(files)
}

/** Not by `instanceof`, because an application may have two copies of the class. */
function codeOf(error: unknown): unknown {
  return (Object(error) as Partial<S3ClientError>).code
}

/** What isn't an error of the client comes from the application, for example from `onProgress`. It is the cause then. */
function asClientError(error: unknown): S3ClientError {
  return (Object(error) as Error).name === 'S3ClientError'
    ? (error as S3ClientError)
    : new S3ClientError('ABORTED', String(error), { cause: error })
}
