import type { QueuedUpload, UploadQueue } from '@svc/db/uploads'
import { copyOf, part } from './elements.js'
import { isRetryable, messageFor } from './error-messages.js'
import { showName, shownName } from './names.js'
import { inUnits } from './units.js'

/** A file of a queue on the page: its progress with buttons, or its error. */
export interface UploadRow {
  readonly element: HTMLElement
  readonly queue: UploadQueue
  /** What the row shows. */
  readonly upload: QueuedUpload
  show(upload: QueuedUpload): void
}

export function uploadRow(queue: UploadQueue, first: QueuedUpload): UploadRow {
  const { id, filename } = first
  const element = copyOf('upload-template')
  const text = part(element, 'state')
  const progress = part<HTMLProgressElement>(element, 'progress')
  const pause = part<HTMLButtonElement>(element, 'pause')
  const go = part<HTMLButtonElement>(element, 'resume')
  const again = part<HTMLButtonElement>(element, 'again')
  const end = part<HTMLButtonElement>(element, 'end')
  const name = shownName(filename)
  let upload = first
  showName(part(element, 'name'), filename)
  progress.ariaLabel = `Upload of ${name}`
  const labels = new Map([
    [pause, `Pause ${name}`],
    [go, `Resume ${name}`],
    [again, `Retry ${name}`],
  ])
  for (const [button, label] of labels) button.ariaLabel = button.title = label
  pause.addEventListener('click', () => queue.pause(id))
  go.addEventListener('click', () => queue.resume(id))
  again.addEventListener('click', () => queue.retry(id))
  end.addEventListener('click', () => queue.remove(id))

  function show(next: QueuedUpload): void {
    upload = next
    const { state, loaded, size, error } = upload
    const hadFocus = element.contains(document.activeElement)
    const isFailed = state === 'failed'
    element.classList.toggle('failed', isFailed)
    progress.hidden = isFailed
    progress.value = size === 0 ? Number(state === 'done') : loaded / size
    pause.hidden = !['queued', 'uploading', 'waiting'].includes(state)
    go.hidden = state !== 'paused'
    again.hidden = !isFailed || !isRetryable(error)
    end.ariaLabel = end.title = isFailed ? `Dismiss ${name}` : `Cancel the upload of ${name}`
    text.textContent = textOf(upload)
    // The button that had it may have gone.
    if (hadFocus && !element.contains(document.activeElement)) (go.hidden ? end : go).focus()
  }

  show(first)
  return {
    element,
    queue,
    get upload() {
      return upload
    },
    show,
  }
}

function textOf({ state, loaded, size, error, filename }: QueuedUpload): string {
  switch (state) {
    case 'queued':
      return 'Waiting'
    case 'waiting':
      return 'Waiting for the network'
    case 'uploading':
      if (loaded === 0) return 'Starting'
      return loaded === size ? 'Finishing' : `${inUnits(loaded)} of ${inUnits(size)}`
    case 'paused':
      return loaded === 0 ? 'Paused' : `Paused at ${inUnits(loaded)} of ${inUnits(size)}`
    case 'failed':
      return messageFor(error, { name: filename, size })
    case 'confirming':
    case 'done':
      return 'Finishing'
  }
}
