/** With more scopes than this, invalidating all usages is cheaper. */
const MAX_SCOPES = 1000
/** Marks beyond this number are left to expire. */
const MAX_MARKS = 1000

/** The mark of a write in progress in Redis, for one scope, or `null` if only the database knows the scope. */
export interface Mark {
  readonly scope: string | null
  readonly token: string
}

/** Usages to remove from Redis, of some scopes or of all, and the marks to remove with them. */
export interface Invalidation {
  readonly scopes: readonly string[]
  readonly all: boolean
  readonly marks: readonly Mark[]
}

/** Builds the invalidation of these scopes, or of all if there are too many. */
export function invalidationOf(scopes: Iterable<string>, marks: readonly Mark[]): Invalidation {
  const distinct = [...new Set(scopes)]
  return distinct.length > MAX_SCOPES
    ? { scopes: [], all: true, marks }
    : { scopes: distinct, all: false, marks }
}

/** Collects the invalidations that Redis did not confirm. */
export class PendingInvalidations {
  #scopes = new Set<string>()
  #all = false
  #marks: Mark[] = []

  get isEmpty(): boolean {
    return !this.#all && this.#scopes.size === 0 && this.#marks.length === 0
  }

  add({ scopes, all, marks }: Invalidation): void {
    for (const scope of scopes) this.#scopes.add(scope)
    this.#all ||= all || this.#scopes.size > MAX_SCOPES
    if (this.#all) this.#scopes.clear()
    this.#marks.push(...marks.slice(0, MAX_MARKS - this.#marks.length))
  }

  /** Passes everything pending to `invalidate`. If it rejects, all of it stays pending. */
  async flush(invalidate: (pending: Invalidation) => Promise<unknown>): Promise<void> {
    const pending = { scopes: [...this.#scopes], all: this.#all, marks: this.#marks }
    this.#scopes = new Set()
    this.#all = false
    this.#marks = []
    try {
      await invalidate(pending)
    } catch (error) {
      this.add(pending)
      throw error
    }
  }
}
