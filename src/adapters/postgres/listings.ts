import type { StoreDriver } from '../../core/store/driver.js'
import { TEXT_LIMITS } from '../../core/store/validation/text.js'
import type { PostgresValue, TextRow } from './connection/database.js'
import type { Call } from './connection/retries.js'
import { readLeftover, readNumber, readObject } from './sql/rows.js'
import type { ReadStatements } from './sql/reads.js'
import { readUsage } from './sql/usage-checks.js'

type Listings = Pick<StoreDriver, 'findById' | 'listScopes' | 'listStored'>

/** Appended to a prefix, sorts after every name with that prefix: as many bytes as a name may have, all the highest. */
const AFTER_ALL_NAMES = '\u{10ffff}'.repeat(TEXT_LIMITS.storageKey.max / 4)

/** Creates the reads that are not about one scope or key. */
export function listMethods(call: Call, statements: ReadStatements): Listings {
  const read = (name: keyof Listings, ...values: readonly PostgresValue[]) =>
    call(statements[name], values, { repeatable: true })

  return {
    async findById({ id, scope }) {
      const [row] = await read('findById', id, scope)
      return row ? readObject(row) : null
    },

    async listScopes({ limit, after }) {
      // No scope is empty.
      const rows = await read('listScopes', after ?? '', limit)
      return rows.map((row) => ({
        scope: row[0]!,
        usage: readUsage(row, 1),
        counts: { active: readNumber(row[2]), pending: readNumber(row[5]), deleted: readNumber(row[6]) },
      }))
    },

    async listStored({ bucket, prefix, after, limit }) {
      const first = prefix ?? ''
      const rows = await read('listStored', bucket, first, first + AFTER_ALL_NAMES, after ?? '', limit)
      return rows.map(([name, object, leftover]) => {
        const storageKey = name!
        return object == null
          ? { storageKey, leftover: readLeftover(JSON.parse(leftover!) as TextRow) }
          : { storageKey, object: readObject(JSON.parse(object) as TextRow)! }
      })
    },
  }
}
