import type { StoreDriver } from '@svc/db'

type Method = Exclude<keyof StoreDriver, 'contract'>

/** The result of each method. */
export type DriverResults = {
  readonly [Name in Method]?: Awaited<ReturnType<NonNullable<StoreDriver[Name]>>>
}

export interface DriverCall {
  readonly method: string
  readonly args: readonly unknown[]
}

export interface RecordingDriver {
  readonly driver: StoreDriver
  readonly calls: DriverCall[]
}

/** A driver that records every call and returns the given results. A call without a result rejects. */
export function recordingDriver(results: DriverResults = {}): RecordingDriver {
  const calls: DriverCall[] = []
  const driver = new Proxy({} as StoreDriver, {
    get: (_target, method: Method | 'contract') => {
      if (method === 'contract') return '1.6'
      return async (...args: unknown[]): Promise<unknown> => {
        calls.push({ method, args })
        if (method in results) return results[method]
        throw new Error(`No result is defined for ${method}.`)
      }
    },
  })
  return { driver, calls }
}

/** A driver whose calls all reject with this error. */
export function failingDriver(error: unknown): StoreDriver {
  return new Proxy({} as StoreDriver, {
    get: () => async () => {
      throw error
    },
  })
}
