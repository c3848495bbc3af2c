import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { EARLY_IDS, attemptIdOf } from './attempt-ids.js'
import type { Call, MethodName } from './calls.js'
import { callStore } from './calls.js'
import { HOUR } from './clock.js'

/** The contract of a store: a driver of 1.5 lacks input fields that 1.6 added. */
export type Contract = '1.5' | '1.6'

/** What the driver behind a store supports. Methods that a minor release adds are optional. */
export interface Abilities {
  readonly contract: Contract
  readonly lacks: ReadonlySet<MethodName>
  /** Whether the store records events if it is asked to. */
  readonly recordsEvents: boolean
}

export const EVERYTHING: Abilities = { contract: '1.6', lacks: new Set(), recordsEvents: true }

/** The methods of events come as a group. */
export const EVENT_METHODS = [
  'claimEvents',
  'settleEvents',
  'extendClaims',
  'listEvents',
  'countEvents',
] as const satisfies readonly MethodName[]

/** The fields that a store over a driver of 1.5 refuses. */
const ADDED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  remove: ['attemptId'],
  listLeftovers: ['scope', 'dueBefore'],
  purgeDeleted: ['scope'],
}

export function hasMethod({ lacks }: Abilities, method: MethodName): boolean {
  return !lacks.has(method)
}

export function hasField({ contract }: Abilities, method: string, field: string): boolean {
  return contract === '1.6' || !(ADDED_FIELDS[method]?.includes(field) ?? false)
}

/** Finds out what a store supports, by calls that a driver without it can't serve. The store should not be used again. */
export async function abilitiesOf(store: StorageObjectStore, now: Date): Promise<Abilities> {
  const at = { bucket: 'probe', key: 'probe' }
  const adopted = { ...at, key: 'adopted', scope: 'probe', storageKey: 'adopted', size: 1, createdAt: now }
  const probes: readonly Call[] = [
    { method: 'update', args: [{ ...at, filename: null }] },
    { method: 'transfer', args: [{ ...at, from: 'probe', to: 'another' }] },
    { method: 'adopt', args: [adopted] },
    { method: 'findById', args: [{ id: attemptIdOf(EARLY_IDS, 0) }] },
    { method: 'listScopes', args: [] },
    { method: 'listStored', args: [{ bucket: at.bucket }] },
    { method: 'claimEvents', args: [at] },
    { method: 'settleEvents', args: [[]] },
    { method: 'extendClaims', args: [[]] },
    { method: 'listEvents', args: [] },
    { method: 'countEvents', args: [] },
  ]
  const due: Call = { method: 'listLeftovers', args: [{ dueBefore: now, limit: 1 }] }
  const lacks = new Set<MethodName>()
  for (const probe of probes) if (await isUnsupported(store, probe)) lacks.add(probe.method)
  if (EVENT_METHODS.some((method) => lacks.has(method))) for (const method of EVENT_METHODS) lacks.add(method)
  const contract = (await isUnsupported(store, due)) ? '1.5' : '1.6'
  if (contract === '1.5') lacks.add('deferLeftover')
  return { contract, lacks, recordsEvents: !lacks.has('listEvents') && (await recordsEvents(store, now)) }
}

async function isUnsupported(store: StorageObjectStore, call: Call): Promise<boolean> {
  if (typeof store[call.method] !== 'function') return true
  try {
    await callStore(store, call)
  } catch (error) {
    // Any other error is a bug, which the cases report.
    return error instanceof TypeError && Symbol.for('@svc/db/unsupported-call') in error
  }
  return false
}

/** Returns whether creating an object records an event. An error is for the cases to report. */
async function recordsEvents(store: StorageObjectStore, now: Date): Promise<boolean> {
  try {
    const at = { bucket: 'probe', key: 'confirmed' }
    await store.reserve({ ...at, scope: 'probe', declaredSize: 1, expiresAt: new Date(now.getTime() + HOUR) })
    await store.confirm({ ...at, size: 1 })
    return (await store.listEvents()).items.length > 0
  } catch {
    return true
  }
}
