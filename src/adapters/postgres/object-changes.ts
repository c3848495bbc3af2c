import type { StoreDriver } from '../../core/store/driver.js'
import type { PostgresValue, Statement } from './connection/database.js'
import type { Call } from './connection/retries.js'
import { createBatchedAdoptions } from './batched-adoptions.js'
import { refusal } from './refusal.js'
import { readObject } from './sql/rows.js'
import { TRANSFER_ARGUMENTS, UPDATE_ARGUMENTS, valuesOf } from './sql/arguments.js'
import { readWriteResult, type WriteResult, type WriteStatements } from './sql/writes.js'

type ObjectChanges = Pick<StoreDriver, 'update' | 'transfer' | 'adopt'>

/**
 * Creates the methods that change active objects. Each leads to the state that its command describes, so a call whose
 * response was lost is repeated.
 */
export function objectChangeMethods(call: Call, statements: WriteStatements): ObjectChanges {
  const adopt = createBatchedAdoptions(call, statements)

  async function write(statement: Statement, values: readonly PostgresValue[]): Promise<WriteResult> {
    const [row] = await call(statement, values, { repeatable: true })
    return readWriteResult(row?.[0])
  }

  return {
    async update(command) {
      const { object } = await write(statements.update, valuesOf(UPDATE_ARGUMENTS, command))
      const row = object ? readObject(object) : null
      return { row, scopes: row ? [row.scope] : [] }
    },

    async transfer(command) {
      const result = await write(statements.transfer, valuesOf(TRANSFER_ARGUMENTS, command))
      const { outcome, object } = result
      if (outcome !== 'transferred') return refusal(result, command.quota)
      const row = object ? readObject(object) : null
      return { outcome, row, scopes: row ? [...new Set([command.from, command.to])] : [] }
    },

    async adopt(command) {
      const { outcome, object, otherScope } = await adopt(command)
      const row = object ? readObject(object) : null
      switch (outcome) {
        case 'adopted':
          return { outcome, row: row!, scopes: otherScope ? [row!.scope, otherScope] : [row!.scope] }
        case 'known':
          return { outcome, object: row, scopes: row ? [row.scope] : [] }
        case 'key-conflict':
          return { outcome }
        default:
          return { outcome: 'sum-too-large' }
      }
    },
  }
}
