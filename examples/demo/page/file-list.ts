import type { DbClientObject } from '@svc/db/client'
import { currentApi } from './clients.js'
import { byId } from './elements.js'
import { generalMessageFor, isOtherUser } from './error-messages.js'
import { fileCard, type FileCard, type StoredFile } from './file-card.js'
import { chosenOrder, clearSearch, onOrderChange } from './file-order.js'
import { sharedIds } from './file-requests.js'
import { fileSelection } from './file-selection.js'
import { quoted } from './names.js'
import { announce } from './notices.js'
import { pendingDeletes } from './pending-deletes.js'
import { files } from './units.js'

const PAGE_SIZE = 12
const TIMEOUT_SECONDS = 30

export interface FileListEvents {
  /** The user has changed or deleted files. */
  changed(): void
  /** A call was refused because another window has switched users. */
  otherUser(): void
}

export interface FileList {
  /** Shows the first page of the signed-in user's files. */
  reload(): Promise<void>
  /** Reads again what is shown, and shows what has changed. */
  refresh(): Promise<void>
  /** Adds a newly uploaded file. */
  add(object: DbClientObject): void
  /** What the server still counts of the files that the user has deleted and could take back. */
  deletedUsage(): { readonly bytes: number; readonly files: number }
  /** Deletes these files now. */
  flushDeletes(): Promise<void>
}

/** What is known about the files of the server. */
type State = 'loading' | 'failed' | 'loaded'

/** Shows the stored files in pages, with search, sorting, selection, and deletes that can be undone. */
export function showFiles(events: FileListEvents): FileList {
  const list = byId('file-list')
  const more = byId<HTMLButtonElement>('more')
  const cards = new Map<string, FileCard>()
  let state: State = 'loading'
  let nextCursor: string | undefined
  let loading = new AbortController()
  /** How often this window has changed a file. What was read before the latest change may be older than it. */
  let changes = 0
  let refreshing: Promise<void> | null = null
  let isStale = false

  const deletes = pendingDeletes({
    restored(restored) {
      for (const file of restored) put(file)
      update()
      events.changed()
      const [first] = restored
      cards
        .get(first?.object.id ?? '')
        ?.element.querySelector<HTMLElement>('[data-part="name"]')
        ?.focus()
    },
    deleted: () => events.changed(),
  })
  const visible = () => [...cards.values()].filter(({ element }) => !element.hidden)
  const selection = fileSelection(visible, deleteCards)

  more.addEventListener('click', () => void loadMore())
  byId('try-again').addEventListener('click', () => void reload())
  onOrderChange(() => {
    update()
    if (chosenOrder().needsAll && nextCursor !== undefined) void readOn(() => false)
  })

  async function reload(): Promise<void> {
    loading.abort()
    loading = new AbortController()
    nextCursor = undefined
    cards.clear()
    list.replaceChildren()
    clearSearch()
    state = 'loading'
    await readOn(() => true)
  }

  async function loadMore(): Promise<void> {
    const before = new Set(cards.keys())
    await readOn(() => true)
    announce(`Showing ${files(cards.size)}.`)
    // The focus moves from the button to the first new file.
    const added = visible().find(({ file }) => !before.has(file.object.id))
    added?.element.querySelector<HTMLElement>('[data-part="name"]')?.focus()
  }

  /** Reads further pages until `isEnough`, or to the end. */
  async function readOn(isEnough: () => boolean): Promise<void> {
    const { signal } = loading
    try {
      const page = await read(nextCursor, isEnough, signal)
      for (const file of page.files) put(file)
      nextCursor = page.next
      state = 'loaded'
    } catch (error) {
      if (signal.aborted) return
      if (isOtherUser(error)) return events.otherUser()
      state = 'failed'
      byId('files-failed-text').textContent = `Your files couldn’t be loaded. ${generalMessageFor(error)}`
    }
    if (!signal.aborted) update()
  }

  /** Reads one after the other, because what an older reading found must not replace what a newer one did. */
  function refresh(): Promise<void> {
    isStale = true
    refreshing ??= refreshUntilCurrent().finally(() => {
      refreshing = null
    })
    return refreshing
  }

  async function refreshUntilCurrent(): Promise<void> {
    while (isStale) {
      isStale = false
      await (state === 'loaded' ? readAgain() : reload())
    }
  }

  async function readAgain(): Promise<void> {
    const { signal } = loading
    const before = changes
    // Without cards, one page is enough: each id sorts before this.
    const oldest = [...cards.keys()].sort()[0] ?? '\uffff'
    try {
      const page = await read(undefined, (last) => last <= oldest, signal)
      if (signal.aborted) return
      if (changes !== before) {
        isStale = true
        return
      }
      const found = new Set(page.files.map(({ object }) => object.id))
      for (const [id, card] of cards) if (!found.has(id)) drop(card)
      for (const file of page.files) put(file)
      nextCursor = page.next
      update()
    } catch (error) {
      if (!signal.aborted && isOtherUser(error)) events.otherUser()
    }
  }

  /** Reads pages after a cursor until `isEnough` says so of the id of the last file. */
  async function read(
    cursor: string | undefined,
    isEnough: (last: string) => boolean,
    signal: AbortSignal,
  ): Promise<{ readonly files: readonly StoredFile[]; readonly next: string | undefined }> {
    const { db } = currentApi()
    const options = { route: 'default', limit: PAGE_SIZE, signal, timeoutSeconds: TIMEOUT_SECONDS }
    const [shared, first] = await Promise.all([sharedIds(signal), db.listObjects({ ...options, cursor })])
    const objects = [...first.objects]
    let next = first.nextCursor
    while (next !== undefined && !isEnough(objects.at(-1)?.id ?? '')) {
      const page = await db.listObjects({ ...options, cursor: next })
      objects.push(...page.objects)
      next = page.nextCursor
    }
    return { files: objects.map((object) => ({ object, isShared: shared.has(object.id) })), next }
  }

  /** Adds a file, or shows it as it is now. */
  function put(file: StoredFile): FileCard | null {
    const { id } = file.object
    if (deletes.has(id)) return null
    const known = cards.get(id)
    known?.show(file)
    if (known) return known
    const card = fileCard(currentApi(), file, {
      delete: () => deleteCards([card]),
      gone() {
        drop(card)
        update()
        events.changed()
      },
      otherUser: () => events.otherUser(),
      changed() {
        changes += 1
        update()
        events.changed()
      },
      selected: () => selection.update(),
    })
    cards.set(id, card)
    return card
  }

  function deleteCards(chosen: readonly FileCard[]): void {
    deletes.add(chosen.map(({ file }) => file))
    for (const card of chosen) drop(card)
    update()
    events.changed()
  }

  /** Removes a card. The focus moves to its neighbour. */
  function drop({ element, file }: FileCard): void {
    const hadFocus = element.contains(document.activeElement)
    const neighbour = element.nextElementSibling ?? element.previousElementSibling
    cards.delete(file.object.id)
    element.remove()
    if (hadFocus)
      (neighbour?.querySelector<HTMLElement>('[data-part="delete"]') ?? byId('files-heading')).focus()
  }

  /** Shows the cards in order, and the controls that fit. */
  function update(): void {
    const order = chosenOrder()
    const sorted = [...cards.values()].sort((one, other) => order.compare(one.file, other.file))
    for (const [index, { element, file }] of sorted.entries()) {
      // Moving an element that stays in its place would drop the focus.
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null)
      element.hidden = !order.matches(file)
    }
    const isEmpty = cards.size === 0
    const isFailed = state === 'failed'
    byId('files').ariaBusy = String(state === 'loading')
    byId('files-loading').hidden = state !== 'loading' || !isEmpty
    byId('files-failed').hidden = !isFailed
    byId('no-files').hidden = !isEmpty || state !== 'loaded' || nextCursor !== undefined
    byId('file-controls').hidden = isEmpty
    byId('no-match').hidden = isEmpty || visible().length > 0
    byId('no-match').textContent = `No file has ${quoted(order.search)} in its name.`
    more.hidden = nextCursor === undefined || isFailed
    selection.update()
    if (isEmpty && nextCursor !== undefined && state === 'loaded') void readOn(() => true)
  }

  update()
  return {
    reload,
    refresh,
    add(object) {
      changes += 1
      put({ object, isShared: false })?.element.classList.add('fresh')
      update()
    },
    deletedUsage: () => deletes.usage(),
    flushDeletes: () => deletes.flush(),
  }
}
