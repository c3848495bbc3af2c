import type { DbApi, DbClientObject, S3Api } from '@svc/db/client'
import { byId } from './elements.js'
import { fileCard } from './file-card.js'
import { announce, notice } from './notices.js'
import { messageFor } from './error-messages.js'
import { sharedIds } from './sharing.js'

const PAGE_SIZE = 12

export interface FileList {
  /** Shows the first page of the signed-in user's files. */
  reload(): Promise<void>
  /** Adds a newly uploaded file. */
  add(object: DbClientObject): void
}

/** Shows the stored files in pages, newest first. Calls `changed` after the user deletes a file. */
export function showFiles(api: S3Api & { readonly db: DbApi }, changed: () => void): FileList {
  const list = byId('file-list')
  const more = byId<HTMLButtonElement>('more')
  let nextCursor: string | undefined
  let loading = new AbortController()
  let shared: ReadonlySet<string> = new Set()

  more.addEventListener('click', () => void loadMore())

  async function reload(): Promise<void> {
    loading.abort()
    loading = new AbortController()
    nextCursor = undefined
    list.replaceChildren()
    byId('no-files').hidden = true
    await load()
  }

  async function loadMore(): Promise<void> {
    const before = list.children.length
    await load()
    announce(`Showing ${list.children.length} files.`)
    // The focused button is gone, so the focus moves to the first new file.
    if (more.hidden) list.children[before]?.querySelector('button')?.focus()
  }

  async function load(): Promise<void> {
    const { signal } = loading
    more.disabled = true
    try {
      const [page, ids] = await Promise.all([
        api.db.listObjects({ limit: PAGE_SIZE, cursor: nextCursor, signal }),
        sharedIds(signal),
      ])
      shared = ids
      nextCursor = page.nextCursor
      page.objects.forEach(insert)
    } catch (error) {
      if (!signal.aborted) notice(messageFor(error, { name: 'Your list of files' }))
    }
    if (!signal.aborted) updateControls()
  }

  /** Inserts a card in order of creation, which ids sort by. Skips a file that an upload has already added. */
  function insert(object: DbClientObject): void {
    const cards = [...list.children] as HTMLElement[]
    const below = cards.find((card) => (card.dataset['id'] ?? '') <= object.id)
    if (below?.dataset['id'] === object.id) return
    const card = fileCard(api, object, { isShared: shared.has(object.id), deleted: () => remove(card) })
    list.insertBefore(card, below ?? null)
  }

  function remove(card: HTMLElement): void {
    const neighbour = card.nextElementSibling ?? card.previousElementSibling
    card.remove()
    const next = neighbour?.querySelector<HTMLElement>('[data-part="delete"]') ?? byId('files-heading')
    next.focus()
    updateControls()
    if (list.children.length === 0 && nextCursor) void load()
    changed()
  }

  function updateControls(): void {
    more.hidden = !nextCursor
    more.disabled = false
    byId('no-files').hidden = list.children.length > 0 || nextCursor !== undefined
  }

  return {
    reload,
    add(object) {
      insert(object)
      updateControls()
    },
  }
}
