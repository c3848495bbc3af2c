import type { StoreDriver } from '@svc/db/adapter'

/** A driver whose calls all reject with this error. */
export function failingDriver(error: unknown): StoreDriver {
  return new Proxy({} as StoreDriver, {
    get: () => async () => {
      throw error
    },
  })
}
