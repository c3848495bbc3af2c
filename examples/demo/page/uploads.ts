import type { DbClientObject } from '@svc/db/client'
import { currentApi } from './clients.js'
import { byId } from './elements.js'
import { toast } from './toasts.js'
import { files } from './units.js'
import { uploadItem, type UploadItem } from './upload-item.js'
import { createQueue } from './upload-queue.js'

const CONCURRENCY = 3

export interface UploadListEvents {
  /** Called before each upload: resolves once the server no longer counts what the user has deleted. */
  readonly makeRoom: () => Promise<void>
  readonly uploaded: (object: DbClientObject) => void
  /** Reservations or the list of uploads have changed. */
  readonly changed: () => void
  /** A call was refused because another window has switched users. */
  readonly otherUser: () => void
}

export interface Uploads {
  start(files: readonly File[]): void
  /** The number of uploads that have neither finished nor failed. */
  countInProgress(): number
  /** Whether this window uploads this file, or shows that it failed. */
  has(file: { readonly filename: string; readonly size: number }): boolean
  /** Retries the uploads that lost the network. */
  retryLost(): void
  /** Cancels all uploads and clears the list. Resolves once the server has ended each of them. */
  cancelAll(): Promise<void>
}

/** Uploads files, a few at a time, and lists their progress. Those that failed are a separate group. */
export function showUploads({ makeRoom, uploaded, changed, otherUser }: UploadListEvents): Uploads {
  const section = byId('uploads')
  const list = byId('upload-list')
  const failedList = byId('failed-list')
  const enqueue = createQueue(CONCURRENCY)
  const items = new Set<UploadItem>()
  let finished = 0

  const failed = () => [...items].filter(({ state }) => state === 'failed')
  const inProgress = () => [...items].filter(({ state }) => state === 'in progress')

  byId('retry-all').addEventListener('click', () => {
    for (const item of failed()) if (item.canRetry) item.retry()
  })
  byId('dismiss-all').addEventListener('click', () => {
    for (const item of failed()) void item.cancel()
    byId('choose').focus()
  })

  function start(file: File): void {
    const item = uploadItem(currentApi(), file, {
      enqueue,
      makeRoom,
      uploaded(object) {
        finished += 1
        uploaded(object)
      },
      changed(_, isOtherUser) {
        update()
        changed()
        if (isOtherUser) otherUser()
      },
      removed(hadFocus) {
        items.delete(item)
        update()
        if (hadFocus) (section.querySelector<HTMLElement>('[data-part="end"]') ?? byId('choose')).focus()
      },
    })
    items.add(item)
    list.append(item.element)
    update()
  }

  function update(): void {
    for (const { element, state } of items) {
      const place = state === 'failed' ? failedList : list
      // Moving an element that stays in its list would drop the focus.
      if (element.parentElement !== place) place.append(element)
    }
    const failures = failed()
    section.hidden = items.size === 0
    list.hidden = failures.length === items.size
    byId('failed').hidden = failures.length === 0
    byId('failed-count').textContent = `${files(failures.length)} not uploaded`
    byId('retry-all').hidden = !failures.some(({ canRetry }) => canRetry)
    if (finished === 0 || inProgress().length > 0) return
    toast(`Uploaded ${files(finished)}.`)
    finished = 0
  }

  return {
    start: (chosen) => chosen.forEach(start),
    countInProgress: () => inProgress().length,
    has: ({ filename, size }) => [...items].some(({ file }) => file.name === filename && file.size === size),
    retryLost() {
      for (const item of failed()) if (item.lostNetwork) item.retry()
    },
    cancelAll: async () => {
      await Promise.all([...items].map((item) => item.cancel()))
    },
  }
}
