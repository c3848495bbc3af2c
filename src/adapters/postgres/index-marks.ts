import { RecentEntries } from '../../core/recent-entries.js'
import { FROM_START, LowWaterMark } from './low-water-mark.js'
import { NumberMark } from './number-mark.js'

/** Milliseconds of real time after which a look starts at the beginning of its index again. */
const FULL_LOOK_EVERY = 60_000

/** Scopes whose marks are remembered. */
const REMEMBERED_SCOPES = 1000

/** The marks of the indexes of all scopes, or of one. */
export class ScopeMarks {
  readonly expired: LowWaterMark
  readonly deleted: LowWaterMark
  readonly leftovers: LowWaterMark
  /** By `due_at`. */
  readonly deferred: LowWaterMark
  /** Leftovers that were never put off, by the time in their attempt ids. */
  readonly undeferred: LowWaterMark
  /** Ends of temporary objects. */
  readonly temporary: LowWaterMark
  /** Ends of the time for checks of attempts that have arrived. */
  readonly arrived: LowWaterMark
  /** Rejections that a purge deletes. */
  readonly rejections: LowWaterMark

  constructor(fullLookEvery: number) {
    const create = () => new LowWaterMark(fullLookEvery)
    ;[this.expired, this.deleted, this.leftovers] = [create(), create(), create()]
    ;[this.deferred, this.undeferred] = [create(), create()]
    ;[this.temporary, this.arrived, this.rejections] = [create(), create(), create()]
  }

  /** Notes a write that may have ended an attempt or deleted an object. The attempt may be of any age. */
  ended(time: number): void {
    this.deleted.lower(time)
    this.leftovers.lower(time)
    this.undeferred.lower(FROM_START)
  }
}

/** The marks of the indexes in which dead entries stay in front of live ones. */
export class IndexMarks {
  readonly firstEvents: LowWaterMark
  readonly retries: LowWaterMark
  /** Events in the order of their numbers. */
  readonly listedEvents: NumberMark
  /** Rejections that other rejections forget, because they are older than an hour. */
  readonly forgotten: LowWaterMark
  readonly #all: ScopeMarks
  readonly #fullLookEvery: number
  #ofScopes = new RecentEntries<ScopeMarks>(REMEMBERED_SCOPES)

  /**
   * Without `isPool`, all looks start at the beginning: a single connection may be in a transaction of the caller that is
   * rolled back.
   */
  constructor({ isPool }: { readonly isPool: boolean }) {
    this.#fullLookEvery = isPool ? FULL_LOOK_EVERY : 0
    this.firstEvents = new LowWaterMark(this.#fullLookEvery)
    this.retries = new LowWaterMark(this.#fullLookEvery)
    this.listedEvents = new NumberMark(this.#fullLookEvery)
    this.forgotten = new LowWaterMark(this.#fullLookEvery)
    this.#all = new ScopeMarks(this.#fullLookEvery)
  }

  /** The marks of this scope, or for `null` those of all. */
  within(scope: string | null): ScopeMarks {
    if (scope === null) return this.#all
    const known = this.#ofScopes.get(scope)
    if (known) return known
    const marks = new ScopeMarks(this.#fullLookEvery)
    this.#ofScopes.set(scope, marks)
    return marks
  }

  /** Applies a change in these scopes (`null`: in any) to all marks that it concerns. */
  change(scopes: readonly string[] | null, apply: (marks: ScopeMarks) => void): void {
    apply(this.#all)
    if (scopes === null) this.#ofScopes = new RecentEntries(REMEMBERED_SCOPES)
    for (const scope of scopes ?? []) {
      const marks = this.#ofScopes.get(scope)
      if (marks) apply(marks)
    }
  }

  /** Forgets everything, because a write has failed and may have taken effect. */
  reset(): void {
    const ofAll = Object.values(this.#all) as LowWaterMark[]
    for (const mark of [this.firstEvents, this.retries, this.forgotten, ...ofAll]) mark.lower(FROM_START)
    this.listedEvents.reset()
    this.#ofScopes = new RecentEntries(REMEMBERED_SCOPES)
  }
}

const marksOfHandles = new WeakMap<object, Map<string, IndexMarks>>()

/** Returns the marks of a schema. Adapters over the same pool share them. */
export function indexMarksOf(handle: object, schema: string, isPool: boolean): IndexMarks {
  const ofSchemas = marksOfHandles.get(handle) ?? new Map<string, IndexMarks>()
  marksOfHandles.set(handle, ofSchemas)
  const marks = ofSchemas.get(schema) ?? new IndexMarks({ isPool })
  ofSchemas.set(schema, marks)
  return marks
}
