import { vi } from 'vitest'

/** Adds a page with a new, empty `localStorage`. Returns its entries. */
export function stubLocalStorage(): Map<string, string> {
  const entries = new Map<string, string>()
  const methods = {
    getItem: (name: string) => entries.get(name) ?? null,
    setItem: (name: string, value: string) => void entries.set(name, value),
    removeItem: (name: string) => void entries.delete(name),
  }
  // Like a browser's storage: its own keys are the stored names, and its methods are inherited.
  const storage = new Proxy(methods, {
    ownKeys: () => [...entries.keys()],
    getOwnPropertyDescriptor: (_, name) =>
      typeof name === 'string' && entries.has(name)
        ? { value: entries.get(name), writable: true, enumerable: true, configurable: true }
        : undefined,
  })
  stubPageWith(storage)
  return entries
}

/** Adds a page with a `localStorage` that throws on every use. */
export function stubFailingLocalStorage(): void {
  const refuse = () => {
    throw new DOMException('Quota exceeded.', 'QuotaExceededError')
  }
  const methods = { getItem: refuse, setItem: refuse, removeItem: refuse }
  stubPageWith(new Proxy(methods, { ownKeys: refuse }))
}

function stubPageWith(localStorage: object): void {
  vi.stubGlobal('document', {})
  vi.stubGlobal('localStorage', localStorage)
}
