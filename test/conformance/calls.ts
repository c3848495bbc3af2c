import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { Expected, Observed } from './outcome.js'
import { observed } from './outcome.js'

/** The calls that the model knows. `iterateByScope` is no promise, and `createStore` makes it of `listByScope`. */
export type MethodName = Exclude<
  keyof StorageObjectStore,
  'iterateByScope' | 'migrate' | 'verify' | 'checkUsage' | 'repairUsage' | 'ping' | 'close'
>

/** One call as data, for the store, the model and the failure report. */
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
  ) => Expected<Awaited<ReturnType<StorageObjectStore[Method]>>>
}

/** A model that makes the choices of the store where the contract leaves them open. */
export interface FollowingModel extends Model {
  /** What the store returned to the call. */
  chosen: unknown
}

/** The compiler can't match the arguments of a `Call` to its method. */
type Callable<Result> = Record<MethodName, (...args: readonly unknown[]) => Result>

export function callStore(store: StorageObjectStore, { method, args }: Call): Promise<unknown> {
  return (store as unknown as Callable<Promise<unknown>>)[method](...args)
}

export function observeStore(store: StorageObjectStore, call: Call): Promise<Observed> {
  return observed(() => callStore(store, call))
}

/** Makes a call to the model, which follows the choices in the outcome of the store's call. */
export function callModel(model: FollowingModel, { method, args }: Call, outcome?: Observed): Expected {
  model.chosen = outcome && 'ok' in outcome ? outcome.ok : undefined
  return (model as unknown as Callable<Expected>)[method](...args)
}
