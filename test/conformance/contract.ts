import type { StorageObjectStore } from '../../src/core/store/contract.js'

/** The contract of a store: a driver of 1.5 lacks methods and input fields that 1.6 added. */
export type Contract = '1.5' | '1.6'

/** The fields that a store over a driver of 1.5 refuses. */
const ADDED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  remove: ['attemptId'],
  listLeftovers: ['scope', 'dueBefore'],
  purgeDeleted: ['scope'],
}

/** The calls that a store over a driver of 1.5 refuses. */
const ADDED_METHODS: readonly string[] = ['deferLeftover']

export function hasMethod(contract: Contract, method: string): boolean {
  return contract === '1.6' || !ADDED_METHODS.includes(method)
}

export function hasField(contract: Contract, method: string, field: string): boolean {
  return contract === '1.6' || !(ADDED_FIELDS[method]?.includes(field) ?? false)
}

/** Returns the contract of the driver behind a store, by a call that a driver of 1.5 can't serve. */
export async function contractOf(store: StorageObjectStore, now: Date): Promise<Contract> {
  try {
    await store.listLeftovers({ dueBefore: now, limit: 1 })
  } catch (error) {
    if (error instanceof TypeError) return '1.5'
  }
  return '1.6'
}
