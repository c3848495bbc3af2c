import type { StoreDriver } from '@svc/db'

type Method = keyof StoreDriver

/** What each method resolves to. */
export type DriverAnswers = { readonly [Name in Method]?: Awaited<ReturnType<StoreDriver[Name]>> }

export interface DriverCall {
  readonly method: string
  readonly args: readonly unknown[]
}

export interface RecordingDriver {
  readonly driver: StoreDriver
  readonly calls: DriverCall[]
}

/** A driver that notes every call, and answers what the test has given it; without an answer the call rejects. */
export function recordingDriver(answers: DriverAnswers = {}): RecordingDriver {
  const calls: DriverCall[] = []
  const driver = new Proxy({} as StoreDriver, {
    get:
      (_target, method: Method) =>
      async (...args: unknown[]): Promise<unknown> => {
        calls.push({ method, args })
        if (method in answers) return answers[method]
        throw new Error(`The test gives no answer to ${method}.`)
      },
  })
  return { driver, calls }
}

/** A driver whose every call rejects with this. */
export function failingDriver(error: unknown): StoreDriver {
  return new Proxy({} as StoreDriver, {
    get: () => async () => {
      throw error
    },
  })
}
