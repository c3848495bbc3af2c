import type { DbApi, DbClientObject, S3Api } from '@svc/db/client'
import { byId } from './elements.js'
import { fileCard } from './file-card.js'
import { announce, notice } from './notices.js'
import { sentenceFor } from './sentences.js'

const PAGE_SIZE = 12

export interface FileList {
  /** Shows the first page of whoever is signed in. */
  reload(): Promise<void>
  /** Shows a file that has just been uploaded. */
  add(object: DbClientObject): void
}

/** The stored files, newest first, page by page. `changed` is called when a file was deleted. */
export function showFiles(api: S3Api & { readonly db: DbApi }, changed: () => void): FileList {
  const list = byId('file-list')
  const more = byId<HTMLButtonElement>('more')
  let nextCursor: string | undefined
  let loading = new AbortController()

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
    announce(`${list.children.length} files are shown.`)
    // The next new file's first button, so that a keyboard goes on where the list does.
    if (more.hidden) list.children[before]?.querySelector('button')?.focus()
  }

  async function load(): Promise<void> {
    const { signal } = loading
    more.disabled = true
    try {
      const page = await api.db.listObjects({ limit: PAGE_SIZE, cursor: nextCursor, signal })
      nextCursor = page.nextCursor
      page.objects.forEach(place)
    } catch (error) {
      if (!signal.aborted) notice(sentenceFor(error, { name: 'Your list of files' }))
    }
    if (!signal.aborted) settle()
  }

  /** Ids sort by creation; a file that an upload has brought already is not shown twice. */
  function place(object: DbClientObject): void {
    const cards = [...list.children] as HTMLElement[]
    const below = cards.find((card) => (card.dataset['id'] ?? '') <= object.id)
    if (below?.dataset['id'] === object.id) return
    const card = fileCard(api, object, () => drop(card))
    list.insertBefore(card, below ?? null)
  }

  function drop(card: HTMLElement): void {
    const neighbour = card.nextElementSibling ?? card.previousElementSibling
    card.remove()
    const next = neighbour?.querySelector<HTMLElement>('[data-part="delete"]') ?? byId('files-heading')
    next.focus()
    settle()
    if (list.children.length === 0 && nextCursor) void load()
    changed()
  }

  function settle(): void {
    more.hidden = !nextCursor
    more.disabled = false
    byId('no-files').hidden = list.children.length > 0 || nextCursor !== undefined
  }

  return {
    reload,
    add(object) {
      place(object)
      settle()
    },
  }
}
