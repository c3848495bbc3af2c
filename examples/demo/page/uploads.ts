import type { DbClientObject, S3Api } from '@svc/db/client'
import { byId } from './elements.js'
import { uploadItem, type UploadItem } from './upload-item.js'
import { createQueue } from './upload-queue.js'

const CONCURRENCY = 3

export interface Uploads {
  start(files: readonly File[]): void
  /** The number of uploads that have neither finished nor failed. */
  countInProgress(): number
  /** Cancels all uploads and clears the list. Resolves once the server has ended each of them. */
  cancelAll(): Promise<void>
}

/** Uploads files, a few at a time, and lists their progress. */
export function showUploads(
  api: S3Api,
  uploaded: (object: DbClientObject) => void,
  changed: () => void,
): Uploads {
  const list = byId('upload-list')
  const section = byId('uploads')
  const enqueue = createQueue(CONCURRENCY)
  const items = new Set<UploadItem>()

  function start(file: File): void {
    const item = uploadItem(api, file, {
      enqueue,
      uploaded,
      changed,
      removed(hadFocus) {
        items.delete(item)
        section.hidden = items.size === 0
        if (hadFocus) (list.querySelector<HTMLElement>('[data-part="end"]') ?? byId('choose')).focus()
      },
    })
    items.add(item)
    list.append(item.element)
    section.hidden = false
  }

  return {
    start: (files) => files.forEach(start),
    countInProgress: () => [...items].filter((item) => item.isInProgress()).length,
    cancelAll: async () => {
      await Promise.all([...items].map((item) => item.cancel()))
    },
  }
}
