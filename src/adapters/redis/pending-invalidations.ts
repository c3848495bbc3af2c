/** With more scopes than this, invalidating all usages is cheaper. */
const MAX_SCOPES = 1000
/** Marks beyond this number are left to expire. */
const MAX_MARKS = 1000

/** The mark of a write in progress in Redis, for one scope, or `null` if only the database knows the scope. */
export interface Mark {
  readonly scope: string | null
  readonly token: string
}

/** Usages to remove from Redis, of some scopes or of all, and what becomes of the marks of the writes. */
export interface Invalidation {
  readonly scopes: readonly string[]
  readonly all: boolean
  /** The marks of writes that have ended, to remove. */
  readonly ended: readonly Mark[]
  /** The marks of writes that may still take effect, to renew. */
  readonly renewed: readonly Mark[]
}

/** Builds the invalidation after a write that touched these scopes, or of all scopes if there are too many. */
export function invalidationOf(scopes: Iterable<string>, ended: readonly Mark[]): Invalidation {
  const distinct = [...new Set(scopes)]
  const all = distinct.length > MAX_SCOPES
  return { scopes: all ? [] : distinct, all, ended, renewed: [] }
}

/** Collects the invalidations that Redis did not confirm. */
export class PendingInvalidations {
  #scopes = new Set<string>()
  #all = false
  #ended: Mark[] = []
  #renewed = new Map<string | null, Mark>()
  /** Whether some are on their way to Redis. */
  #isFlushing = false

  get isEmpty(): boolean {
    return !this.#isFlushing && this.#hasNone
  }

  /** Whether none has been added since the last flush. */
  get #hasNone(): boolean {
    return !this.#all && this.#scopes.size === 0 && this.#ended.length === 0 && this.#renewed.size === 0
  }

  add({ scopes, all, ended, renewed }: Invalidation): void {
    for (const scope of scopes) this.#scopes.add(scope)
    this.#all ||= all || this.#scopes.size > MAX_SCOPES
    if (this.#all) this.#scopes.clear()
    this.#ended.push(...ended.slice(0, MAX_MARKS - this.#ended.length))
    // One mark of a scope has the effect of many, and one without a scope has the effect of all.
    for (const mark of renewed) this.#renewed.set(mark.scope, mark)
    const [last] = renewed.slice(-1)
    if (last && this.#renewed.size > MAX_MARKS) {
      this.#renewed = new Map([[null, { scope: null, token: last.token }]])
    }
  }

  /** Passes everything pending to `invalidate`. If it rejects, all of it stays pending. */
  async flush(invalidate: (pending: Invalidation) => Promise<unknown>): Promise<void> {
    const pending = {
      scopes: [...this.#scopes],
      all: this.#all,
      ended: this.#ended,
      renewed: [...this.#renewed.values()],
    }
    this.#isFlushing = !this.#hasNone
    this.#scopes = new Set()
    this.#all = false
    this.#ended = []
    this.#renewed = new Map()
    try {
      await invalidate(pending)
    } catch (error) {
      this.add(pending)
      throw error
    } finally {
      this.#isFlushing = false
    }
  }
}
