import { byId } from './elements.js'
import { nameOf, type StoredFile } from './file-card.js'

type Order = 'newest' | 'name' | 'largest'

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

const compare: Readonly<Record<Order, (one: StoredFile, other: StoredFile) => number>> = {
  // Ids sort by creation.
  newest: (one, other) => (one.object.id < other.object.id ? 1 : -1),
  name: (one, other) => collator.compare(nameOf(one.object), nameOf(other.object)),
  largest: (one, other) => (other.object.size ?? 0) - (one.object.size ?? 0),
}

export interface FileOrder {
  /** The text to search for. */
  readonly search: string
  /** Whether the order can only be shown with all files loaded. */
  readonly needsAll: boolean
  readonly compare: (one: StoredFile, other: StoredFile) => number
  readonly matches: (file: StoredFile) => boolean
}

/** Returns what the controls for searching and sorting say. */
export function chosenOrder(): FileOrder {
  const search = byId<HTMLInputElement>('search').value.trim()
  const order = byId<HTMLSelectElement>('sort').value as Order
  const wanted = search.toLowerCase()
  return {
    search,
    needsAll: search !== '' || order !== 'newest',
    compare: compare[order],
    matches: ({ object }) => nameOf(object).toLowerCase().includes(wanted),
  }
}

/** Calls `changed` when the user searches or sorts. */
export function onOrderChange(changed: () => void): void {
  byId('search').addEventListener('input', changed)
  byId('sort').addEventListener('change', changed)
}

export function clearSearch(): void {
  byId<HTMLInputElement>('search').value = ''
}
