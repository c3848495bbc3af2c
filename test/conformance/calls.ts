import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { Answer, Observed } from './answer.js'
import { observed } from './answer.js'

/** The calls that a model can answer, and that scripts are made of. */
export type MethodName = Exclude<
  keyof StorageObjectStore,
  'migrate' | 'verify' | 'checkUsage' | 'repairUsage' | 'ping' | 'close'
>

/** One call as data: what is sent to the store, told to the model and printed. */
export type Call = {
  [Method in MethodName]: {
    readonly method: Method
    readonly args: Parameters<StorageObjectStore[Method]>
  }
}[MethodName]

/** A store without time and promises: one synchronous method per call. */
export type Model = {
  [Method in MethodName]: (
    ...args: Parameters<StorageObjectStore[Method]>
  ) => Answer<Awaited<ReturnType<StorageObjectStore[Method]>>>
}

/** A store or model whose methods take whatever a call has, which the compiler can't tell to fit. */
type Callable<Result> = Record<MethodName, (...args: readonly unknown[]) => Result>

export function callStore(store: StorageObjectStore, { method, args }: Call): Promise<unknown> {
  return (store as unknown as Callable<Promise<unknown>>)[method](...args)
}

export function askStore(store: StorageObjectStore, call: Call): Promise<Observed> {
  return observed(() => callStore(store, call))
}

export function askModel(model: Model, { method, args }: Call): Answer {
  return (model as unknown as Callable<Answer>)[method](...args)
}
