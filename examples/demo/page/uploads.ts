import type { DbClientObject, S3Api } from '@svc/db/client'
import { byId } from './elements.js'
import { uploadItem, type UploadItem } from './upload-item.js'
import { createQueue } from './upload-queue.js'

const AT_ONCE = 3

export interface Uploads {
  start(files: readonly File[]): void
  /** How many have not come to an end. */
  underWay(): number
  /** Cancels all of them and clears the list. Resolves once each is ended at the server. */
  cancelAll(): Promise<void>
}

/** Uploads files, a few at a time. */
export function showUploads(
  api: S3Api,
  uploaded: (object: DbClientObject) => void,
  changed: () => void,
): Uploads {
  const list = byId('upload-list')
  const section = byId('uploads')
  const enqueue = createQueue(AT_ONCE)
  const items = new Set<UploadItem>()

  function start(file: File): void {
    const item = uploadItem(api, file, {
      enqueue,
      uploaded,
      changed,
      gone(hadFocus) {
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
    underWay: () => [...items].filter((item) => item.isUnderWay()).length,
    cancelAll: async () => {
      await Promise.all([...items].map((item) => item.cancel()))
    },
  }
}
