import type { DbClientObject, S3Api } from '@svc/db/client'
import { copyOf, part } from './elements.js'
import { announce } from './notices.js'
import { isRetryable, messageFor } from './error-messages.js'
import { inUnits } from './units.js'

export interface UploadEvents {
  /** Runs the task once a slot is free. */
  enqueue(task: () => Promise<void>): void
  uploaded(object: DbClientObject): void
  /** The server may have reserved or released quota. */
  changed(): void
  /** The item was removed from the page. `hadFocus`: the keyboard focus was inside it. */
  removed(hadFocus: boolean): void
}

export interface UploadItem {
  readonly element: HTMLElement
  /** Whether the upload has neither finished nor failed. */
  isInProgress(): boolean
  /** Resolves once the server has aborted the attempt, or has already confirmed it. */
  cancel(): Promise<void>
}

/** Uploads one file, and shows its progress with a cancel button, or its error with a retry button. */
export function uploadItem(api: S3Api, file: File, events: UploadEvents): UploadItem {
  const element = copyOf('upload-template')
  const state = part(element, 'state')
  const progress = part<HTMLProgressElement>(element, 'progress')
  const retry = part<HTMLButtonElement>(element, 'again')
  const end = part<HTMLButtonElement>(element, 'end')
  part(element, 'name').textContent = part(element, 'name').title = file.name
  progress.ariaLabel = `Upload of ${file.name}`
  retry.ariaLabel = retry.title = `Retry ${file.name}`
  retry.addEventListener('click', start)
  end.addEventListener('click', () => void cancel())

  let controller = new AbortController()
  let running: Promise<void> | null = null
  let isInProgress = false

  function start(): void {
    const own = new AbortController()
    controller = own
    isInProgress = true
    element.classList.remove('failed')
    retry.hidden = true
    progress.hidden = false
    progress.value = 0
    state.textContent = 'Waiting'
    end.ariaLabel = end.title = `Cancel the upload of ${file.name}`
    events.enqueue(async () => {
      if (own.signal.aborted) return
      running = run(own.signal)
      await running
    })
  }

  async function run(signal: AbortSignal): Promise<void> {
    state.textContent = 'Starting'
    try {
      const object = await api.upload(file, { signal, onProgress: showProgress })
      events.uploaded(object)
      announce(`Uploaded ${file.name}.`)
      remove()
    } catch (error) {
      if (signal.aborted) remove()
      else fail(error)
    }
    isInProgress = false
    events.changed()
  }

  function showProgress({ loaded, total }: { loaded: number; total: number }): void {
    if (progress.value === 0) events.changed()
    progress.value = total === 0 ? 1 : loaded / total
    state.textContent = loaded === total ? 'Finishing' : `${inUnits(loaded)} of ${inUnits(total)}`
  }

  function fail(error: unknown): void {
    element.classList.add('failed')
    progress.hidden = true
    retry.hidden = !isRetryable(error)
    end.ariaLabel = end.title = `Dismiss ${file.name}`
    state.textContent = messageFor(error, file)
    announce(`Couldn’t upload ${file.name}. ${state.textContent}`)
  }

  async function cancel(): Promise<void> {
    controller.abort()
    if (!isInProgress || !running) return remove()
    state.textContent = 'Cancelling'
    await running
  }

  function remove(): void {
    isInProgress = false
    const hadFocus = element.contains(document.activeElement)
    element.remove()
    events.removed(hadFocus)
  }

  start()
  return { element, isInProgress: () => isInProgress, cancel }
}
