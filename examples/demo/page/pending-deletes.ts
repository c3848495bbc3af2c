import { currentApi, type Api } from './clients.js'
import { isGone, messageFor } from './error-messages.js'
import { nameOf, type StoredFile } from './file-card.js'
import { quoted } from './names.js'
import { announce, notice } from './notices.js'
import { currentUser, headersFor } from './requests.js'
import { toast, type Toast } from './toasts.js'
import { files as countOf } from './units.js'

const UNDO_SECONDS = 10

/** Where a page that is left tells the next one which files are being deleted. */
const LEFT_BEHIND = 'deleted-files'

export interface PendingDeletes {
  /** Deletes files after ten seconds, unless the user takes it back. They count as deleted from now on. */
  add(files: readonly StoredFile[]): void
  has(id: string): boolean
  /** What the server still counts of them. */
  usage(): { readonly bytes: number; readonly files: number }
  /** Deletes them now. Resolves once the server has answered. */
  flush(): Promise<void>
}

export interface DeleteEvents {
  /** Files have to be shown again: the user took the delete back, or it failed. */
  readonly restored: (files: readonly StoredFile[]) => void
  /** The server has deleted files. */
  readonly deleted: () => void
}

interface Batch {
  readonly files: readonly StoredFile[]
  readonly api: Api
  readonly toast: Toast
}

/** Deletes files after a time in which the user can undo it. */
export function pendingDeletes({ restored, deleted }: DeleteEvents): PendingDeletes {
  const batches = new Set<Batch>()
  const running = new Set<Promise<void>>()
  const ids = new Set((sessionStorage.getItem(LEFT_BEHIND) ?? '').split(' '))
  sessionStorage.removeItem(LEFT_BEHIND)

  function add(files: readonly StoredFile[]): void {
    const [first] = files
    if (!first) return
    const what = files.length === 1 ? quoted(nameOf(first.object)) : countOf(files.length)
    for (const { object } of files) ids.add(object.id)
    const batch: Batch = {
      files,
      api: currentApi(),
      toast: toast(`Deleted ${what}.`, {
        seconds: UNDO_SECONDS,
        action: { label: 'Undo', run: () => undo(batch) },
        closed: () => void run(batch),
      }),
    }
    batches.add(batch)
    announce(`Deleted ${what}. You can undo this for ${UNDO_SECONDS} seconds.`)
  }

  const waiting = () => [...batches].flatMap(({ files }) => files.map(({ object }) => object))

  function undo(batch: Batch): void {
    batches.delete(batch)
    forget(batch.files)
    restored(batch.files)
  }

  function forget(files: readonly StoredFile[]): void {
    for (const { object } of files) ids.delete(object.id)
  }

  async function run(batch: Batch): Promise<void> {
    if (!batches.delete(batch)) return
    const work = deleteAll(batch)
    running.add(work)
    await work
    running.delete(work)
  }

  async function deleteAll({ files, api }: Batch): Promise<void> {
    for (const file of files) {
      const { bucket, key } = file.object
      try {
        await api.delete({ bucket, key, timeoutSeconds: 30 })
      } catch (error) {
        if (isGone(error)) continue
        notice(messageFor(error, { name: nameOf(file.object) }))
        forget([file])
        restored([file])
      }
    }
    deleted()
  }

  // The page is closed or reloaded. A request with `keepalive` outlives it.
  addEventListener('pagehide', () => {
    const objects = waiting()
    if (objects.length === 0) return
    batches.clear()
    sessionStorage.setItem(LEFT_BEHIND, objects.map(({ id }) => id).join(' '))
    for (const { bucket, key } of objects) {
      const path = `/api/s3/object?${new URLSearchParams({ bucket, key }).toString()}`
      void fetch(path, { method: 'DELETE', keepalive: true, headers: headersFor(currentUser()) })
    }
  })

  return {
    add,
    has: (id) => ids.has(id),
    usage: () => ({
      bytes: waiting().reduce((sum, { size }) => sum + (size ?? 0), 0),
      files: waiting().length,
    }),
    async flush() {
      for (const { toast: shown } of batches) shown.close()
      await Promise.all(running)
    },
  }
}
