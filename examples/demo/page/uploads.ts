import type { DbClientObject } from '@svc/db/client'
import { createUploadQueue, type QueuedUpload, type UploadQueue } from '@svc/db/uploads'
import { currentApi, type Api } from './clients.js'
import { byId } from './elements.js'
import { isNetworkError, isOtherUser, isRetryable, messageFor } from './error-messages.js'
import { shownName } from './names.js'
import { announce } from './notices.js'
import { toast } from './toasts.js'
import { duration, files } from './units.js'
import { uploadRow, type UploadRow } from './upload-row.js'

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
  /** Cancels all uploads and clears the list. Resolves once none of them is in progress. */
  cancelAll(): Promise<void>
}

/** Uploads files, a few at a time, and lists their progress. Those that failed are a separate group. */
export function showUploads({ makeRoom, uploaded, changed, otherUser }: UploadListEvents): Uploads {
  const section = byId('uploads')
  const list = byId('upload-list')
  const failedList = byId('failed-list')
  /** One for each user, whose files stay theirs. */
  const queues = new Map<Api, UploadQueue>()
  const rows: UploadRow[] = []
  let finished = 0

  const failed = () => rows.filter(({ upload }) => upload.state === 'failed')
  const inProgress = () => rows.filter(({ upload }) => upload.state !== 'failed')

  byId('pause-all').addEventListener('click', () => {
    for (const queue of queues.values()) queue.pause()
    update()
    byId('resume-all').focus()
    announce('Uploads are paused.')
  })
  byId('resume-all').addEventListener('click', () => {
    for (const queue of queues.values()) queue.resume()
    update()
    byId('pause-all').focus()
  })
  byId('retry-all').addEventListener('click', () => {
    for (const { queue, upload } of failed()) if (isRetryable(upload.error)) queue.retry(upload.id)
  })
  byId('dismiss-all').addEventListener('click', () => {
    for (const { queue, upload } of failed()) queue.remove(upload.id)
    byId('choose').focus()
  })

  function currentQueue(): UploadQueue {
    const api = currentApi()
    const known = queues.get(api)
    if (known) return known
    const upload: Api['upload'] = async (...call) => {
      await makeRoom()
      return api.upload(...call)
    }
    const queue = createUploadQueue({ ...api, upload }, { route: 'default' })
    queue.subscribe(update)
    queues.set(api, queue)
    return queue
  }

  /** Brings the page up to date with the queues. */
  function update(): void {
    for (const queue of queues.values()) {
      const { items } = queue.getSnapshot()
      const present = new Set(items.map(({ id }) => id))
      for (const row of rows.filter((each) => each.queue === queue)) {
        if (!present.has(row.upload.id)) remove(row)
      }
      for (const item of items) showItem(queue, item)
    }
    for (const { element, upload } of rows) {
      const place = upload.state === 'failed' ? failedList : list
      // Moving an element that stays in its list would drop the focus.
      if (element.parentElement !== place) place.append(element)
    }
    showGroups()
  }

  function showItem(queue: UploadQueue, item: QueuedUpload): void {
    let row = rows.find((each) => each.queue === queue && each.upload.id === item.id)
    const before = row?.upload
    if (before === item) return
    if (!row) {
      row = uploadRow(queue, item)
      rows.push(row)
      list.append(row.element)
    }
    row.show(item)
    const { state, error, object, filename, size } = item
    if (object) {
      finished += 1
      uploaded(object)
      queue.remove(item.id)
      remove(row)
    } else if (state !== before?.state) {
      if (error)
        announce(`Couldn’t upload ${shownName(filename)}. ${messageFor(error, { name: filename, size })}`)
      if (isOtherUser(error)) otherUser()
      changed()
    } else if (before.loaded === 0) {
      // Its space is reserved now.
      changed()
    }
  }

  function remove(row: UploadRow): void {
    const hadFocus = row.element.contains(document.activeElement)
    row.element.remove()
    rows.splice(rows.indexOf(row), 1)
    if (hadFocus) (section.querySelector<HTMLElement>('[data-part="end"]') ?? byId('choose')).focus()
    changed()
  }

  function showGroups(): void {
    const failures = failed()
    const running = inProgress()
    const { secondsLeft } = currentQueue().getSnapshot()
    section.hidden = rows.length === 0
    list.hidden = running.length === 0
    byId('time-left').textContent = secondsLeft ? `${duration(secondsLeft)} left` : ''
    byId('resume-all').hidden = !running.some(({ upload }) => upload.state === 'paused')
    byId('pause-all').hidden = running.length === 0 || !byId('resume-all').hidden
    byId('failed').hidden = failures.length === 0
    byId('failed-count').textContent = `${files(failures.length)} not uploaded`
    byId('retry-all').hidden = !failures.some(({ upload }) => isRetryable(upload.error))
    if (finished === 0 || running.length > 0) return
    toast(`Uploaded ${files(finished)}.`)
    finished = 0
  }

  return {
    start(chosen) {
      currentQueue().add(chosen)
      update()
    },
    countInProgress: () => inProgress().length,
    has: ({ filename, size }) =>
      rows.some(({ upload }) => upload.filename === filename && upload.size === size),
    retryLost() {
      for (const { queue, upload } of failed()) if (isNetworkError(upload.error)) queue.retry(upload.id)
    },
    async cancelAll() {
      for (const queue of queues.values()) {
        queue.cancel()
        await untilStopped(queue)
        // What was stored before it could be cancelled is shown first.
        update()
        for (const { id } of queue.getSnapshot().items) queue.remove(id)
        queue.resume()
      }
      update()
    },
  }
}

/** Resolves once the server has verified what could no longer be cancelled. */
function untilStopped(queue: UploadQueue): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (queue.getSnapshot().items.some(({ state }) => state === 'confirming')) return
      stop()
      resolve()
    }
    const stop = queue.subscribe(look)
    look()
  })
}
