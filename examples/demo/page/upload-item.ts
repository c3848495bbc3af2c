import type { DbClientObject, S3Api } from '@svc/db/client'
import { copyOf, part } from './elements.js'
import { announce } from './notices.js'
import { isNetworkError, isOtherUser, isRetryable, messageFor } from './error-messages.js'
import { showName, shownName } from './names.js'
import { inUnits } from './units.js'

export interface UploadEvents {
  /** Runs the task once a slot is free. */
  enqueue(task: () => Promise<void>): void
  /** Resolves once the server no longer counts what the user has deleted. */
  makeRoom(): Promise<void>
  uploaded(object: DbClientObject): void
  /** The upload started again, failed, or ended. `isOtherUser`: another window has switched users. */
  changed(item: UploadItem, isOtherUser: boolean): void
  /** The item was removed from the page. `hadFocus`: the keyboard focus was inside it. */
  removed(hadFocus: boolean): void
}

export type UploadState = 'in progress' | 'failed' | 'ended'

export interface UploadItem {
  readonly element: HTMLElement
  readonly file: File
  readonly state: UploadState
  /** Whether it failed because the network was lost, or the server. */
  readonly canRetry: boolean
  /** Whether it failed because the network was lost. */
  readonly lostNetwork: boolean
  retry(): void
  /** Resolves once the server has aborted the attempt, or has already confirmed it. Removes a failed upload from the page. */
  cancel(): Promise<void>
}

/** Uploads one file, and shows its progress with a cancel button, or its error with a retry button. */
export function uploadItem(api: S3Api, file: File, events: UploadEvents): UploadItem {
  const element = copyOf('upload-template')
  const text = part(element, 'state')
  const progress = part<HTMLProgressElement>(element, 'progress')
  const again = part<HTMLButtonElement>(element, 'again')
  const end = part<HTMLButtonElement>(element, 'end')
  const name = shownName(file.name)
  showName(part(element, 'name'), file.name)
  progress.ariaLabel = `Upload of ${name}`
  again.ariaLabel = again.title = `Retry ${name}`
  again.addEventListener('click', start)
  end.addEventListener('click', () => void cancel())

  let controller = new AbortController()
  let running: Promise<void> | null = null
  let state: UploadState = 'in progress'
  let failure: unknown = null

  const item: UploadItem = {
    element,
    file,
    get state() {
      return state
    },
    get canRetry() {
      return state === 'failed' && isRetryable(failure)
    },
    get lostNetwork() {
      return state === 'failed' && isNetworkError(failure)
    },
    retry: start,
    cancel,
  }

  function start(): void {
    const own = new AbortController()
    controller = own
    state = 'in progress'
    element.classList.remove('failed')
    again.hidden = true
    progress.hidden = false
    progress.value = 0
    text.textContent = 'Waiting'
    end.ariaLabel = end.title = `Cancel the upload of ${name}`
    events.changed(item, false)
    events.enqueue(async () => {
      if (own.signal.aborted) return
      running = run(own.signal)
      await running
    })
  }

  async function run(signal: AbortSignal): Promise<void> {
    text.textContent = 'Starting'
    try {
      await events.makeRoom()
      const object = await api.upload(file, {
        signal,
        onProgress: showProgress,
        onState(now) {
          if (now === 'waiting') text.textContent = 'Waiting for the network'
          if (now === 'confirming') text.textContent = 'Finishing'
        },
      })
      state = 'ended'
      events.uploaded(object)
      remove()
    } catch (error) {
      if (signal.aborted) remove()
      else fail(error)
    }
    events.changed(item, state === 'failed' && isOtherUser(failure))
  }

  function showProgress({ loaded, total }: { loaded: number; total: number }): void {
    if (progress.value === 0) events.changed(item, false)
    progress.value = total === 0 ? 1 : loaded / total
    text.textContent = loaded === total ? 'Finishing' : `${inUnits(loaded)} of ${inUnits(total)}`
  }

  function fail(error: unknown): void {
    state = 'failed'
    failure = error
    element.classList.add('failed')
    progress.hidden = true
    again.hidden = !isRetryable(error)
    end.ariaLabel = end.title = `Dismiss ${name}`
    text.textContent = messageFor(error, file)
    announce(`Couldn’t upload ${name}. ${text.textContent}`)
  }

  async function cancel(): Promise<void> {
    controller.abort()
    if (state !== 'in progress' || !running) return remove()
    text.textContent = 'Cancelling'
    await running
  }

  function remove(): void {
    state = 'ended'
    const hadFocus = element.contains(document.activeElement)
    element.remove()
    events.removed(hadFocus)
  }

  // Not during this call: the caller doesn't have the item yet.
  queueMicrotask(start)
  return item
}
