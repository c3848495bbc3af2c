/** Beyond so many it is less work to forget everything. */
const MOST_SCOPES = 1000

/** Whose usage is to be forgotten: that of some scopes, or of all. */
export interface Forgettable {
  readonly scopes: readonly string[]
  readonly all: boolean
}

export const EVERYTHING: Forgettable = { scopes: [], all: true }

/** These scopes, or all where they are too many to be named. */
export function forgettable(scopes: Iterable<string>): Forgettable {
  const distinct = [...new Set(scopes)]
  return distinct.length > MOST_SCOPES ? EVERYTHING : { scopes: distinct, all: false }
}

/** What Redis should have forgotten and wasn't told, because it didn't answer. */
export class Debts {
  #scopes = new Set<string>()
  #all = false

  get isEmpty(): boolean {
    return !this.#all && this.#scopes.size === 0
  }

  add({ scopes, all }: Forgettable): void {
    if (!all && !this.#all) for (const scope of scopes) this.#scopes.add(scope)
    if (all || this.#scopes.size > MOST_SCOPES) {
      this.#all = true
      this.#scopes.clear()
    }
  }

  /** Pays what is owed now with this function; if that fails, all of it is owed still. */
  async pay(forget: (owed: Forgettable) => Promise<unknown>): Promise<void> {
    const owed = { scopes: [...this.#scopes], all: this.#all }
    this.#scopes = new Set()
    this.#all = false
    try {
      await forget(owed)
    } catch (error) {
      this.add(owed)
      throw error
    }
  }
}
