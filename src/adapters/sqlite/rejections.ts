import { REJECTION_SECONDS } from '../../core/store/inputs/verdicts.js'
import type { Rejection } from '../../core/store/lifecycle/change.js'
import type { Connection } from './connection/connection.js'
import { dateOf } from './rows.js'

/** The attempts that were rejected in the last hour, and those before them until the next verdict. */
export function rejectionLog(connection: Connection) {
  const insert = connection.statement(
    `INSERT OR REPLACE INTO {rejections} (attempt_id, scope, bucket, key, rejected_at, reason)
      VALUES (:attemptId, :scope, :bucket, :key, :rejectedAt, :reason)`,
  )
  const find = connection.statement(
    'SELECT scope, bucket, key, rejected_at, reason FROM {rejections} WHERE attempt_id = :attemptId',
  )
  const forget = connection.statement(
    'DELETE FROM {rejections} INDEXED BY {rejections_rejected_at} WHERE rejected_at <= :until',
  )
  const forgetOfScope = connection.statement(
    `DELETE FROM {rejections} INDEXED BY {rejections_scope_rejected_at}
      WHERE scope = :scope AND rejected_at <= :until`,
  )

  /** Forgets the rejections up to a date, of a scope or of all (`null`). */
  function forgetUntil(until: Date | number, scope: string | null): void {
    const values = { until: Number(until) }
    if (scope === null) forget.run(values)
    else forgetOfScope.run({ ...values, scope })
  }

  return {
    forgetUntil,
    add({ attemptId, scope, bucket, key, rejectedAt, reason }: Rejection): void {
      forgetUntil(rejectedAt.getTime() - REJECTION_SECONDS * 1000, null)
      insert.run({ attemptId, scope, bucket, key, rejectedAt, reason })
    },
    find(attemptId: string): Rejection | null {
      const cells = find.first({ attemptId })
      if (!cells) return null
      const [scope, bucket, key, rejectedAt, reason] = cells as readonly string[]
      return {
        ...{ attemptId, scope: scope!, bucket: bucket!, key: key! },
        ...{ rejectedAt: dateOf(rejectedAt), reason: reason ?? null },
      }
    },
  }
}
