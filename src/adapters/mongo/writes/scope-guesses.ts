/** Keys remembered at most; the oldest is forgotten first. */
const MOST = 10_000

/** Which scope a key was last seen in by this process. No more than a guess: other processes write too. */
export interface ScopeGuesses {
  of(key: string): string | null
  remember(key: string, scope: string): void
}

export function createScopeGuesses(most = MOST): ScopeGuesses {
  const scopes = new Map<string, string>()
  return {
    of(key) {
      return scopes.get(key) ?? null
    },
    remember(key, scope) {
      scopes.delete(key)
      scopes.set(key, scope)
      if (scopes.size <= most) return
      const [oldest] = scopes.keys()
      scopes.delete(oldest!)
    },
  }
}
