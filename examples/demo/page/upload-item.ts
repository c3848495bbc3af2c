import type { DbClientObject, S3Api } from '@svc/db/client'
import { copyOf, part } from './elements.js'
import { announce } from './notices.js'
import { mayGoWellAgain, sentenceFor } from './sentences.js'
import { inUnits } from './units.js'

export interface UploadEvents {
  /** Runs the task when it is its turn. */
  enqueue(task: () => Promise<void>): void
  uploaded(object: DbClientObject): void
  /** The server may have reserved or freed room. */
  changed(): void
  /** The item has left the page, and the keyboard's place with it where `hadFocus`. */
  gone(hadFocus: boolean): void
}

export interface UploadItem {
  readonly element: HTMLElement
  /** Whether it has not come to an end; a failed one has. */
  isUnderWay(): boolean
  /** Resolves once the attempt is ended at the server, or the object turned out to be there already. */
  cancel(): Promise<void>
}

/** One file on its way: its progress, a way out, and after a failure what happened and a way to try again. */
export function uploadItem(api: S3Api, file: File, events: UploadEvents): UploadItem {
  const element = copyOf('upload-template')
  const state = part(element, 'state')
  const progress = part<HTMLProgressElement>(element, 'progress')
  const again = part<HTMLButtonElement>(element, 'again')
  const end = part<HTMLButtonElement>(element, 'end')
  part(element, 'name').textContent = part(element, 'name').title = file.name
  progress.ariaLabel = `Upload of ${file.name}`
  again.ariaLabel = again.title = `Try ${file.name} again`
  again.addEventListener('click', begin)
  end.addEventListener('click', () => void cancel())

  let controller = new AbortController()
  let running: Promise<void> | null = null
  let isUnderWay = false

  function begin(): void {
    const own = new AbortController()
    controller = own
    isUnderWay = true
    element.classList.remove('failed')
    again.hidden = true
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
      announce(`${file.name} is uploaded.`)
      leave()
    } catch (error) {
      if (signal.aborted) leave()
      else fail(error)
    }
    isUnderWay = false
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
    again.hidden = !mayGoWellAgain(error)
    end.ariaLabel = end.title = `Dismiss ${file.name}`
    state.textContent = sentenceFor(error, file)
    announce(`${file.name} was not uploaded. ${state.textContent}`)
  }

  async function cancel(): Promise<void> {
    controller.abort()
    if (!isUnderWay || !running) return leave()
    state.textContent = 'Cancelling'
    await running
  }

  function leave(): void {
    isUnderWay = false
    const hadFocus = element.contains(document.activeElement)
    element.remove()
    events.gone(hadFocus)
  }

  begin()
  return { element, isUnderWay: () => isUnderWay, cancel }
}
