/** About 2 MB. An attempt that is forgotten costs its confirm a round trip of its own. */
const MAX_REMEMBERED = 10_000

/**
 * The scopes of the attempts that this process has reserved, newest last. They let a confirm that names no scope join the batch
 * of its scope. An attempt never changes its scope, but the object that it becomes can.
 */
export class ReservedScopes {
  readonly #scopes = new Map<string, string>()

  get(attemptId: string): string | null {
    return this.#scopes.get(attemptId) ?? null
  }

  remember(attemptId: string, scope: string): void {
    this.#scopes.set(attemptId, scope)
    if (this.#scopes.size <= MAX_REMEMBERED) return
    const [oldest] = this.#scopes.keys()
    this.#scopes.delete(oldest!)
  }

  forget(attemptId: string): void {
    this.#scopes.delete(attemptId)
  }
}
