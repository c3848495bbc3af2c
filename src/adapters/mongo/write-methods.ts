import type { RowOutcome, StoreDriver } from '../../core/store/driver.js'
import { copyObject } from '../../core/store/records.js'
import type { KeyPlan, KeyWrite } from './writes/key-write.js'
import type { KeyResult } from './writes/write-keys.js'

type WriteMethods = Pick<
  StoreDriver,
  'reserve' | 'confirm' | 'setUploadId' | 'release' | 'remove' | 'update' | 'transfer' | 'adopt'
>

/** Creates the driver's methods that write at one key, and turns plans into outcomes. */
export function createWriteMethods(write: (keyWrite: KeyWrite) => Promise<KeyResult>): WriteMethods {
  return {
    async reserve(command) {
      const { plan, scopes } = await write({ kind: 'reserve', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'reserved', row: copyObject(plan.row!), scopes }
        case 'key-conflict':
        case 'reused-id':
        case 'reused-storage-key':
        case 'maxBytes':
        case 'maxFiles':
        case 'sum':
          return plan
        default:
          throw unexpectedOutcome(plan)
      }
    },

    async confirm(command) {
      const { plan, scopes } = await write({ kind: 'confirm', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'confirmed', row: copyObject(plan.row!), scopes }
        case 'not-found':
        case 'maxBytes':
        case 'maxFiles':
        case 'sum':
          return plan
        default:
          throw unexpectedOutcome(plan)
      }
    },

    async setUploadId(command) {
      const { plan, scopes } = await write({ kind: 'setUploadId', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'set', row: copyObject(plan.row!), scopes }
        case 'not-found':
        case 'other-upload':
          return plan
        default:
          throw unexpectedOutcome(plan)
      }
    },

    async release(command) {
      return rowOutcome(await write({ kind: 'release', command }))
    },

    async remove(command) {
      return rowOutcome(await write({ kind: 'remove', command }))
    },

    async update(command) {
      return rowOutcome(await write({ kind: 'update', command }))
    },

    async transfer(command) {
      const { plan, scopes } = await write({ kind: 'transfer', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'transferred', row: plan.row && copyObject(plan.row), scopes }
        case 'maxBytes':
        case 'maxFiles':
        case 'sum':
          return plan
        default:
          throw unexpectedOutcome(plan)
      }
    },

    async adopt(command) {
      const { plan, scopes } = await write({ kind: 'adopt', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'adopted', row: copyObject(plan.row!), scopes }
        case 'known':
          return { outcome: 'known', object: plan.object && copyObject(plan.object), scopes }
        case 'key-conflict':
        case 'sum':
          return plan
        default:
          throw unexpectedOutcome(plan)
      }
    },
  }
}

/** Returns the outcome of a write that is never refused. */
export function rowOutcome({ plan, scopes }: KeyResult): RowOutcome {
  if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') throw unexpectedOutcome(plan)
  return { row: plan.row && copyObject(plan.row), scopes }
}

function unexpectedOutcome({ outcome }: KeyPlan): RangeError {
  return new RangeError(`Unexpected outcome of a write: ${outcome}.`)
}
