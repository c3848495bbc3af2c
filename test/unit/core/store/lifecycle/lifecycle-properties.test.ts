import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AdoptCommand, Leftover, QuotaLimits, ScopeUsage, StorageObject } from '@svc/db'
import {
  NOTHING_LIVE,
  planAdopt,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  planTransfer,
  planUpdate,
  receivesBytes,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
} from '../../../../../src/core/store/lifecycle.js'
import { NO_USAGE, usageAfter } from '../../../../../src/core/store/usage.js'
import { idNumber } from '../../rows.js'
import { afterNoon } from '../../settable-clock.js'
import { adoptCommand, confirmCommand, reserveCommand } from './commands.js'

const SCOPES = ['user:1', 'user:2']
const KEYS = ['a', 'b', 'c']
const QUOTA: QuotaLimits = { maxBytes: 100, maxFiles: 3 }

/** A minimal store: the rows of each key, the usage as changed by each write, the leftovers, and the changes. */
class SmallStore {
  readonly rows = new Map<string, LiveRows>()
  readonly usage = new Map<string, ScopeUsage>()
  readonly history: StorageObject[] = []
  readonly leftovers: Leftover[] = []
  readonly changes: KeyChange[] = []
  /** Scopes that bytes were adopted for. No quota limits those. */
  readonly adopting = new Set<string>()
  /** Every storage key reserved or adopted so far. */
  readonly storageKeys: string[] = []
  /** The upload id of each attempt that had one. */
  readonly uploads = new Map<string, string>()
  readonly confirmed = new Set<string>()

  at(key: string): LiveRows {
    return this.rows.get(key) ?? NOTHING_LIVE
  }

  usedBy(scope: string | null): ScopeUsage {
    return (scope !== null && this.usage.get(scope)) || NO_USAGE
  }

  apply(key: string, plan: KeyChange | { readonly outcome: string }): void {
    if (!('leftovers' in plan)) return
    expect(plan.before).toBe(this.at(key))
    this.#charge(scopeOf(plan.before), usageOf(plan.before), NO_USAGE)
    this.#charge(scopeOf(plan.after), NO_USAGE, usageOf(plan.after))
    this.rows.set(key, plan.after)
    if (plan.history) this.history.push(plan.history)
    this.leftovers.push(...plan.leftovers)
    this.changes.push(plan)
  }

  /** Returns what names the bytes of a command, except the row that receives them. */
  named(command: AdoptCommand): StorageObject | 'leftover' | null {
    const live = [...this.rows.values()].flatMap(({ active, pending }) => [active, pending])
    const row = live.find(
      (found) => found && nameOf(found) === command.storageKey && !receivesBytes(found, command),
    )
    const isLeft = this.leftovers.some((leftover) => nameOf(leftover) === command.storageKey)
    return row ?? (isLeft ? 'leftover' : null)
  }

  #charge(scope: string | null, removed: ScopeUsage, added: ScopeUsage): void {
    if (scope !== null) this.usage.set(scope, usageAfter(this.usedBy(scope), removed, added))
  }
}

function nameOf({ storageKey, key }: Pick<StorageObject, 'storageKey' | 'key'>): string {
  return storageKey ?? key
}

const ACTS = [
  'reserve',
  'confirm',
  'setUploadId',
  'release',
  'remove',
  'purge',
  'update',
  'transfer',
  'adopt',
] as const

interface Step {
  readonly act: (typeof ACTS)[number]
  readonly scope: string
  readonly key: string
  readonly size: number
  readonly stored: boolean
  readonly hard: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('reserve', 'confirm', ...ACTS),
  scope: fc.constantFrom(...SCOPES),
  key: fc.constantFrom(...KEYS),
  size: fc.nat({ max: 60 }),
  stored: fc.boolean(),
  hard: fc.boolean(),
})

/** Runs the step this many seconds after noon. A reservation expires after five seconds. */
function take(store: SmallStore, { act, scope, key, size, stored, hard }: Step, number: number): void {
  const reference = { bucket: 'photos', key }
  const now = afterNoon(number * 1000)
  const before = store.at(key)
  switch (act) {
    case 'reserve': {
      const id = idNumber(number)
      const storageKey = stored ? `stored/${number}` : null
      const uploadId = hard ? `upload/${number}` : null
      const expiresAt = afterNoon((number + 5) * 1000)
      const attempt = { ...reference, scope, declaredSize: size, id, storageKey, uploadId, expiresAt }
      const command = reserveCommand({ ...attempt, now, quota: QUOTA })
      const plan = planReserve(before, store.usedBy(scope), command)
      if (plan.outcome === 'change' && storageKey !== null) store.storageKeys.push(storageKey)
      if (plan.outcome === 'change' && uploadId !== null) store.uploads.set(id, uploadId)
      return store.apply(key, plan)
    }
    case 'confirm': {
      const command = confirmCommand({ ...reference, size, now, quota: QUOTA })
      const plan = planConfirm(before, store.usedBy(scopeOf(before)), command)
      if (plan.outcome === 'change') store.confirmed.add(plan.row.attemptId)
      return store.apply(key, plan)
    }
    case 'setUploadId': {
      const uploadId = `upload/${number}`
      const id = before.pending?.id ?? idNumber(0)
      const plan = planSetUploadId(before, { ...reference, id, uploadId, now })
      if (plan.outcome === 'change') store.uploads.set(id, uploadId)
      return store.apply(key, plan)
    }
    case 'release':
      return store.apply(key, planRelease(before, { ...reference, id: null, scope, uploadId: null, now }))
    case 'remove':
      return store.apply(
        key,
        planRemove(before, { ...reference, scope, attemptId: null, mode: hard ? 'hard' : 'soft', now }),
      )
    case 'update': {
      const changes = { filename: hard ? null : `${size % 2}`, metadata: stored ? { a: 'b' } : null }
      return store.apply(key, planUpdate(before, { ...reference, scope, attemptId: null, changes, now }))
    }
    case 'transfer': {
      const to = SCOPES.find((other) => other !== scope)!
      const command = { ...reference, from: scope, to, attemptId: null, quota: QUOTA, now }
      return store.apply(key, planTransfer(before, store.usedBy(to), command))
    }
    case 'adopt': {
      const known = store.storageKeys[size % 5]
      const storageKey = stored && known !== undefined ? known : `stored/${number}`
      const command = adoptCommand({ ...reference, id: idNumber(number), scope, size, storageKey, now })
      const plan = planAdopt(before, store.usedBy(scope), command, store.named(command))
      if (plan.outcome === 'change') {
        store.storageKeys.push(storageKey)
        store.adopting.add(scope)
      }
      return store.apply(key, plan)
    }
    case 'purge':
      return store.apply(key, planPurge(before, before.pending?.id ?? idNumber(0), now, now))
  }
}

function always(holds: (store: SmallStore) => void): void {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new SmallStore()
      steps.forEach((one, index) => {
        take(store, one, index + 1)
        holds(store)
      })
    }),
  )
}

describe('after any writes in any order,', () => {
  it('the usage of a scope is the sum of its keys, and never negative', () => {
    always((store) => {
      for (const scope of SCOPES) {
        const rows = [...store.rows.values()].filter((live) => scopeOf(live) === scope)
        const sum = rows.reduce((total, live) => usageAfter(total, NO_USAGE, usageOf(live)), NO_USAGE)
        expect(store.usedBy(scope)).toEqual(sum)
        expect(Math.min(sum.bytes, sum.files, sum.reservedBytes, sum.reservedFiles)).toBeGreaterThanOrEqual(0)
      }
    })
  })

  it('no scope is over its quota, except by adopted bytes', () => {
    always((store) => {
      for (const scope of SCOPES.filter((name) => !store.adopting.has(name))) {
        const { bytes, reservedBytes, files, reservedFiles } = store.usedBy(scope)
        expect(bytes + reservedBytes).toBeLessThanOrEqual(100)
        expect(files + reservedFiles).toBeLessThanOrEqual(3)
      }
    })
  })

  it('the rows of a key have one scope and the fields of their status', () => {
    always((store) => {
      for (const { active, pending } of store.rows.values()) {
        if (active && pending) expect(pending.scope).toBe(active.scope)
        if (pending) {
          expect(pending).toMatchObject({
            status: 'pending',
            size: null,
            confirmedAt: null,
            attemptId: pending.id,
          })
          expect(pending.declaredSize).not.toBeNull()
          expect(pending.expiresAt).not.toBeNull()
        }
        if (active) {
          const none = { status: 'active', declaredSize: null, uploadId: null, expiresAt: null }
          expect(active).toMatchObject(none)
          expect(active.size).not.toBeNull()
          expect(active.confirmedAt).not.toBeNull()
        }
      }
      for (const row of store.history) {
        expect(row).toMatchObject({ status: 'deleted', uploadId: null })
        expect(row.deletedAt).not.toBeNull()
      }
    })
  })

  it('every storage key is on a live row or a leftover, and never on both', () => {
    always((store) => {
      const live = [...store.rows.values()].flatMap(({ active, pending }) => [active, pending])
      const onRows = live.flatMap((row) => row?.storageKey ?? [])
      const leftOver = store.leftovers.flatMap(({ storageKey }) => storageKey ?? [])
      expect([...onRows, ...leftOver].sort()).toEqual([...store.storageKeys].sort())
    })
  })

  it('every upload has a pending or confirmed attempt, or a leftover', () => {
    always((store) => {
      const pending = new Set([...store.rows.values()].map((live) => live.pending?.id))
      const leftOver = new Map(store.leftovers.map(({ attemptId, uploadId }) => [attemptId, uploadId]))
      for (const [id, uploadId] of store.uploads) {
        if (store.confirmed.has(id)) expect(leftOver.get(id) ?? null).toBeNull()
        else if (!pending.has(id)) expect(leftOver.get(id)).toBe(uploadId)
      }
    })
  })

  it('each change of an active row has an event, and no other change has one', () => {
    always((store) => {
      const [last] = store.changes.slice(-1)
      if (!last) return
      const { before, after, event, row } = last
      if (before.active === after.active) return expect(event).toBeNull()
      expect(event?.object).toBe(row)
      expect(event?.previous).toBe(after.active ? before.active : null)
      const isTransfer =
        before.active !== null && after.active !== null && before.active.scope !== after.active.scope
      expect(event?.type === 'deleted').toBe(after.active === null)
      expect(event?.type === 'transferred').toBe(isTransfer)
    })
  })

  it('an object keeps its id and createdAt until it is removed', () => {
    always((store) => {
      for (const { before, after } of store.changes.slice(-1)) {
        if (!before.active || !after.active) continue
        expect(after.active).toMatchObject({ id: before.active.id, createdAt: before.active.createdAt })
      }
    })
  })
})
