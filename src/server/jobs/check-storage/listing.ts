import { utf8Order } from '../../../core/names.js'
import { PAGE_SIZE } from '../pages.js'

/** A place in the byte order of names. */
export interface Place {
  readonly name: string
  /** The sort key of the name. */
  readonly order: string
}

/** An entry of a listing. */
export interface Entry<T> extends Place {
  readonly value: T
}

export interface EntryPage<T> {
  readonly entries: readonly Entry<T>[]
  /** The name after which the next page starts, or `null` at the end. */
  readonly next: string | null
}

/** Lists entries in byte order of their names. Entries of one name are never split between two pages. */
export type ListEntries<T> = (after: string | null, limit: number) => Promise<EntryPage<T>>

export function entryOf<T>(name: string, value: T): Entry<T> {
  return { name, order: utf8Order(name), value }
}

/** Reads a listing to its end, and holds at most one page. */
export class Listing<T> {
  readonly #list: ListEntries<T>
  #entries: Entry<T>[] = []
  #next: string | null
  #isComplete = false

  constructor(list: ListEntries<T>, after: string | null) {
    this.#list = list
    this.#next = after
  }

  /** Reads on until something is left of the last page, or nothing follows. */
  async fill(): Promise<void> {
    while (this.#entries.length === 0 && !this.#isComplete) {
      const { entries, next } = await this.#list(this.#next, PAGE_SIZE)
      this.#entries = [...entries]
      this.#isComplete = next === null
      this.#next = next
    }
  }

  /** The last entry that was read, if others follow it. `null` if everything was read. */
  get end(): Place | null {
    return this.#isComplete ? null : (this.#entries.at(-1) ?? null)
  }

  /** Removes and returns the entries up to and including this place, or all of them. */
  takeUpTo(end: Place | null): readonly Entry<T>[] {
    const beyond = end ? this.#entries.findIndex(({ order }) => order > end.order) : -1
    return this.#entries.splice(0, beyond === -1 ? this.#entries.length : beyond)
  }
}

/** Returns the entries with these names in a stretch of a listing. */
export async function entriesWithin<T>(
  list: ListEntries<T>,
  { after, last, limit }: { readonly after: string | null; readonly last: Place; readonly limit: number },
  wanted: ReadonlySet<string>,
): Promise<readonly Entry<T>[]> {
  const found: Entry<T>[] = []
  let next: string | null = after
  do {
    const page: EntryPage<T> = await list(next, limit)
    found.push(...page.entries.filter(({ name, order }) => order <= last.order && wanted.has(name)))
    next = page.next
  } while (next !== null && utf8Order(next) < last.order)
  return found
}
