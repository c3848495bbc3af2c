/** Beyond so many it is less work to forget everything. */
const MOST_SCOPES = 1000
/** Beyond so many they are left to end by themselves. */
const MOST_MARKS = 1000

/** A write that Redis was told of, for one scope or, with `null`, for those that only the database knows. */
export interface Mark {
  readonly scope: string | null
  readonly token: string
}

/** Whose usage is to be forgotten, that of some scopes or of all, and which marks are to be taken away. */
export interface Forgettable {
  readonly scopes: readonly string[]
  readonly all: boolean
  readonly marks: readonly Mark[]
}

/** These scopes, or all where they are too many to be named. */
export function forgettable(scopes: Iterable<string>, marks: readonly Mark[]): Forgettable {
  const distinct = [...new Set(scopes)]
  return distinct.length > MOST_SCOPES
    ? { scopes: [], all: true, marks }
    : { scopes: distinct, all: false, marks }
}

/** What Redis should have forgotten and wasn't told, because it didn't answer. */
export class Debts {
  #scopes = new Set<string>()
  #all = false
  #marks: Mark[] = []

  get isEmpty(): boolean {
    return !this.#all && this.#scopes.size === 0 && this.#marks.length === 0
  }

  add({ scopes, all, marks }: Forgettable): void {
    for (const scope of scopes) this.#scopes.add(scope)
    this.#all ||= all || this.#scopes.size > MOST_SCOPES
    if (this.#all) this.#scopes.clear()
    this.#marks.push(...marks.slice(0, MOST_MARKS - this.#marks.length))
  }

  /** Pays what is owed now with this function; if that fails, all of it is owed still. */
  async pay(forget: (owed: Forgettable) => Promise<unknown>): Promise<void> {
    const owed = { scopes: [...this.#scopes], all: this.#all, marks: this.#marks }
    this.#scopes = new Set()
    this.#all = false
    this.#marks = []
    try {
      await forget(owed)
    } catch (error) {
      this.add(owed)
      throw error
    }
  }
}
