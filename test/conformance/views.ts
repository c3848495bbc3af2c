import type {
  Leftover,
  ObjectReference,
  ObjectStatus,
  ScopeSummary,
  StorageObject,
  StoredItem,
} from '../../src/core/store/records.js'
import type { ListedEvent } from '../../src/core/store/events.js'
import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { Observed } from './outcome.js'
import { observed, valueOf } from './outcome.js'
import type { Call } from './calls.js'
import { callModel, callStore } from './calls.js'
import { END_OF_TIME } from './clock.js'
import { outcomeDifference } from './difference.js'
import { allEvents } from './event-views.js'
import { NO_USAGE } from './given.js'
import { compareBytes } from './model/rows.js'
import type { Notation } from './notation.js'
import type { ReferenceModel } from './reference-model.js'

/** One read of a state, from the store and from the model. */
interface View {
  /** The call, for the failure report. */
  readonly label: (notation: Notation) => string
  readonly read: (store: StorageObjectStore) => Promise<unknown>
  /** The result of the model, with the choices of the store where the contract leaves them open. */
  readonly expected: (model: ReferenceModel, chosen: unknown) => unknown
}

/** The names that a script uses. */
export interface Names {
  readonly now: Date
  readonly scopes: readonly string[]
  readonly routes: readonly string[]
  readonly references: readonly ObjectReference[]
  readonly ids: readonly string[]
}

/** Small, so a few rows make several pages. */
const PAGE = 2
/** Stops paging through a store whose cursors never end. */
const MAX_PAGES = 200
const MAX_LIMIT = 1000

const STATUSES: readonly (ObjectStatus | undefined)[] = [undefined, 'pending', 'active', 'deleted']

function viewsOf({ now, scopes, routes, references, ids }: Names): View[] {
  const buckets = [...new Set(references.map(({ bucket }) => bucket))]
  return [
    ...scopes.flatMap((scope) => [
      ...STATUSES.flatMap((status) => [pagesOf({ scope, status }), countOf(scope, status)]),
      ...routes.map((route) => pagesOf({ scope, route })),
      view({ method: 'getScopeUsage', args: [scope] }),
      view({ method: 'listExpired', args: [{ scope }] }),
      view({ method: 'listTemporary', args: [{ scope, before: END_OF_TIME }] }),
      view({ method: 'listArrived', args: [{ scope }] }),
    ]),
    ...references.flatMap((reference) => [
      view({ method: 'find', args: [reference] }),
      view({ method: 'findActive', args: [reference] }),
      view({ method: 'findPending', args: [reference] }),
      multipartOf(reference),
    ]),
    {
      label: () => `listExpired({ limit: ${PAGE} }), page by page`,
      read: (store) => pagesAfter<StorageObject>((after) => store.listExpired({ limit: PAGE, after })),
      expected: (model) => chunks(valueOf(model.listExpired({ limit: MAX_LIMIT }))),
    },
    {
      label: () => `listTemporary({ before: END_OF_TIME, limit: ${PAGE} }), page by page`,
      read: (store) =>
        pagesAfter<StorageObject>((after) =>
          store.listTemporary({ before: END_OF_TIME, limit: PAGE, after }),
        ),
      expected: (model) => chunks(valueOf(model.listTemporary({ before: END_OF_TIME, limit: MAX_LIMIT }))),
    },
    {
      label: () => `listArrived({ limit: ${PAGE} }), page by page`,
      read: (store) => pagesAfter<StorageObject>((after) => store.listArrived({ limit: PAGE, after })),
      expected: (model) => chunks(valueOf(model.listArrived({ limit: MAX_LIMIT }))),
    },
    {
      label: () => `listLeftovers({ limit: ${PAGE} }), page by page`,
      read: (store) => pagesAfter<Leftover>((after) => store.listLeftovers({ limit: PAGE, after })),
      expected: (model) => chunks(valueOf(model.listLeftovers({ limit: MAX_LIMIT }))),
    },
    {
      label: () => `listLeftovers({ dueBefore: now, limit: ${PAGE} }), page by page`,
      read: (store) =>
        pagesAfter<Leftover>((after) => store.listLeftovers({ dueBefore: now, limit: PAGE, after })),
      expected: (model) => chunks(valueOf(model.listLeftovers({ dueBefore: now, limit: MAX_LIMIT }))),
    },
    ...scopes.flatMap((scope) => [
      view({ method: 'listLeftovers', args: [{ scope }] }),
      view({ method: 'listLeftovers', args: [{ scope, dueBefore: now }] }),
    ]),
    ...ids.map((id) => view({ method: 'findById', args: [{ id }] })),
    scopesView,
    ...buckets.map(storedView),
    eventsView,
    view({ method: 'countEvents', args: [] }),
  ]
}

/** A scope without rows may be missing, or appear with zeros. */
const scopesView: View = {
  label: () => `listScopes({ limit: ${PAGE} }), page by page`,
  read: (store) =>
    pagesAfter<ScopeSummary>((after) => store.listScopes({ limit: PAGE, after: after?.scope })),
  expected(model, chosen) {
    const listed = valueOf(model.listScopes({ limit: MAX_LIMIT }))
    const shown = Array.isArray(chosen) ? (chosen as ScopeSummary[][]).flat() : []
    const empty = shown
      .filter(({ scope }) => !listed.some((other) => other.scope === scope))
      .map(({ scope }) => ({ scope, usage: NO_USAGE, counts: { active: 0, pending: 0, deleted: 0 } }))
    return chunks([...listed, ...empty].sort((a, b) => compareBytes(a.scope, b.scope)))
  },
}

function storedView(bucket: string): View {
  return {
    label: (notation) => `listStored(${notation.value({ bucket, limit: PAGE })}), page by page`,
    read: (store) =>
      pagesAfter<StoredItem>((after) => store.listStored({ bucket, limit: PAGE, after: after?.storageKey })),
    expected(model, chosen) {
      const pages: StoredItem[][] = []
      let after: string | undefined
      model.chosen = Array.isArray(chosen) ? chosen.flat() : undefined
      do {
        pages.push(valueOf(model.listStored({ bucket, limit: PAGE, after })))
        after = pages.at(-1)!.at(-1)?.storageKey
      } while (after !== undefined)
      return pages.length > 1 ? pages.slice(0, -1) : pages
    },
  }
}

const eventsView: View = {
  label: () => `listEvents({ limit: ${PAGE} }), page by page`,
  read: allEvents,
  expected: (model, chosen) => model.eventsAsListed(Array.isArray(chosen) ? (chosen as ListedEvent[]) : []),
}

function view(call: Call): View {
  return {
    label: (notation) => notation.call(call),
    read: (store) => callStore(store, call),
    expected: (model) => valueOf(callModel(model, call)),
  }
}

function countOf(scope: string, status: ObjectStatus | undefined): View {
  return view({ method: 'countByScope', args: status === undefined ? [scope] : [scope, status] })
}

function pagesOf(input: { scope: string; status?: ObjectStatus | undefined; route?: string }): View {
  return {
    label: (notation) => `listByScope(${notation.value({ ...input, limit: PAGE })}), page by page`,
    async read(store) {
      const pages: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await store.listByScope({ ...input, limit: PAGE, cursor })
        pages.push(page.objects)
        cursor = page.nextCursor
      } while (cursor !== undefined && pages.length < MAX_PAGES)
      return pages
    },
    expected: (model) => chunks(valueOf(model.listByScope({ ...input, limit: MAX_LIMIT })).objects),
  }
}

/** Passes the size of the pending row, which differs from script to script. */
function multipartOf(reference: ObjectReference): View {
  return {
    label: (notation) =>
      `findPendingMultipart(${notation.value(reference)} with the size of the pending row)`,
    async read(store) {
      const pending = await store.findPending(reference)
      return store.findPendingMultipart({ ...reference, fileSize: pending?.declaredSize ?? 0 })
    },
    expected(model) {
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
  } while (page.length > 0 && pages.length < MAX_PAGES)
  // The last page is empty.
  return pages.length > 1 ? pages.slice(0, -1) : pages
}

/** Splits the items into pages, at least one. */
function chunks<Item>(items: readonly Item[]): Item[][] {
  const pages: Item[][] = [[]]
  for (const item of items) {
    if (pages.at(-1)!.length === PAGE) pages.push([])
    pages.at(-1)!.push(item)
  }
  return pages
}

/** The results of all reads of a store. No other call may run while it is taken. */
export class Snapshot {
  readonly #views: readonly View[]
  readonly #observed: readonly Observed[]

  private constructor(views: readonly View[], outcomes: readonly Observed[]) {
    this.#views = views
    this.#observed = outcomes
  }

  static async of(store: StorageObjectStore, names: Names): Promise<Snapshot> {
    const views = viewsOf(names)
    // In parallel: over a network, sequential reads would take most of the suite's time.
    const outcomes = await Promise.all(views.map((each) => observed(() => each.read(store))))
    return new Snapshot(views, outcomes)
  }

  /** Describes the first difference from the state of the model, or returns `null`. */
  differenceFrom(model: ReferenceModel, notation: Notation): string | null {
    for (const [index, { label, expected }] of this.#views.entries()) {
      const outcome = this.#observed[index]!
      const chosen = 'ok' in outcome ? outcome.ok : undefined
      const found = outcomeDifference({ ok: expected(model, chosen) }, outcome, notation)
      if (found !== null) return `${label(notation)}\n${found}`
    }
    return null
  }
}
