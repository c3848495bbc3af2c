import type { Leftover, ObjectReference, ObjectStatus, StorageObject } from '../../src/core/store/records.js'
import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { Observed } from './answer.js'
import { observed, valueOf } from './answer.js'
import type { Call } from './calls.js'
import { askModel, callStore } from './calls.js'
import { answerDifference } from './difference.js'
import type { Notation } from './notation.js'
import type { ReferenceModel } from './reference-model.js'

/** One way to look at a whole state: what the store shows, and what the model says it should. */
interface View {
  /** The call in words, for a reader. */
  readonly label: (notation: Notation) => string
  readonly ofStore: (store: StorageObjectStore) => Promise<unknown>
  readonly ofModel: (model: ReferenceModel) => unknown
}

export interface Names {
  readonly scopes: readonly string[]
  readonly routes: readonly string[]
  readonly references: readonly ObjectReference[]
}

/** Small, so that a handful of rows makes several pages. */
const PAGE = 2
/** A store whose cursors go in a circle would be paged through for ever. */
const MOST_PAGES = 200
const MOST = 1000

const STATUSES: readonly (ObjectStatus | undefined)[] = [undefined, 'pending', 'active', 'deleted']

function viewsOf({ scopes, routes, references }: Names): View[] {
  return [
    ...scopes.flatMap((scope) => [
      ...STATUSES.flatMap((status) => [pagesOf({ scope, status }), countOf(scope, status)]),
      ...routes.map((route) => pagesOf({ scope, route })),
      view({ method: 'getScopeUsage', args: [scope] }),
      view({ method: 'listExpired', args: [{ scope }] }),
    ]),
    ...references.flatMap((reference) => [
      view({ method: 'find', args: [reference] }),
      view({ method: 'findActive', args: [reference] }),
      view({ method: 'findPending', args: [reference] }),
      multipartOf(reference),
    ]),
    {
      label: () => `listExpired({ limit: ${PAGE} }), page by page`,
      ofStore: (store) => pagesAfter<StorageObject>((after) => store.listExpired({ limit: PAGE, after })),
      ofModel: (model) => chunks(valueOf(model.listExpired({ limit: MOST }))),
    },
    {
      label: () => `listLeftovers({ limit: ${PAGE} }), page by page`,
      ofStore: (store) => pagesAfter<Leftover>((after) => store.listLeftovers({ limit: PAGE, after })),
      ofModel: (model) => chunks(valueOf(model.listLeftovers({ limit: MOST }))),
    },
  ]
}

function view(call: Call): View {
  return {
    label: (notation) => notation.call(call),
    ofStore: (store) => callStore(store, call),
    ofModel: (model) => valueOf(askModel(model, call)),
  }
}

function countOf(scope: string, status: ObjectStatus | undefined): View {
  return view({ method: 'countByScope', args: status === undefined ? [scope] : [scope, status] })
}

function pagesOf(input: { scope: string; status?: ObjectStatus | undefined; route?: string }): View {
  return {
    label: (notation) => `listByScope(${notation.value({ ...input, limit: PAGE })}), page by page`,
    async ofStore(store) {
      const pages: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await store.listByScope({ ...input, limit: PAGE, cursor })
        pages.push(page.objects)
        cursor = page.nextCursor
      } while (cursor !== undefined && pages.length < MOST_PAGES)
      return pages
    },
    ofModel: (model) => chunks(valueOf(model.listByScope({ ...input, limit: MOST })).objects),
  }
}

/** Asks with the size of whatever is pending there, which only the model can know beforehand. */
function multipartOf(reference: ObjectReference): View {
  return {
    label: (notation) =>
      `findPendingMultipart(${notation.value(reference)} and the size of what is pending there)`,
    async ofStore(store) {
      const pending = await store.findPending(reference)
      return store.findPendingMultipart({ ...reference, fileSize: pending?.declaredSize ?? 0 })
    },
    ofModel(model) {
      const pending = valueOf(model.findPending(reference))
      return valueOf(model.findPendingMultipart({ ...reference, fileSize: pending?.declaredSize ?? 0 }))
    },
  }
}

async function pagesAfter<Item>(list: (after: Item | undefined) => Promise<Item[]>): Promise<Item[][]> {
  const pages: Item[][] = []
  let page: Item[] = []
  do {
    page = await list(page.at(-1))
    pages.push(page)
  } while (page.length > 0 && pages.length < MOST_PAGES)
  // The last page shows only that nothing is left.
  return pages.length > 1 ? pages.slice(0, -1) : pages
}

/** As pages come: at least one, if an empty one. */
function chunks<Item>(items: readonly Item[]): Item[][] {
  const pages: Item[][] = [[]]
  for (const item of items) {
    if (pages.at(-1)!.length === PAGE) pages.push([])
    pages.at(-1)!.push(item)
  }
  return pages
}

/** All that a store shows of its state at one moment; nothing may be written meanwhile. */
export class Snapshot {
  readonly #views: readonly View[]
  readonly #shown: readonly Observed[]

  private constructor(views: readonly View[], shown: readonly Observed[]) {
    this.#views = views
    this.#shown = shown
  }

  static async of(store: StorageObjectStore, names: Names): Promise<Snapshot> {
    const views = viewsOf(names)
    // Together, because over a network one after the other would take most of the suite's time.
    const shown = await Promise.all(views.map((each) => observed(() => each.ofStore(store))))
    return new Snapshot(views, shown)
  }

  /** What differs from the state of a model, or `null`. */
  differenceFrom(model: ReferenceModel, notation: Notation): string | null {
    for (const [index, { label, ofModel }] of this.#views.entries()) {
      const found = answerDifference({ ok: ofModel(model) }, this.#shown[index]!, notation)
      if (found !== null) return `${label(notation)}\n${found}`
    }
    return null
  }
}
