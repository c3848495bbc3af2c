import { copyObject, type StorageObject } from '../store/records.js'
import { isAttemptId } from '../store/attempt-id.js'
import { shown } from '../store/validation/checks.js'

/**
 * Returns the ids of those objects that your application uses, which are then kept. Each is the `id` or the `attemptId` of an object;
 * other ids are ignored.
 */
export type IsUsed = (objects: readonly StorageObject[]) => readonly string[] | Promise<readonly string[]>

/** Asks the application which of the rows it uses. @throws TypeError if it returns anything but ids. */
export async function usedAmong(
  isUsed: IsUsed,
  rows: readonly StorageObject[],
): Promise<readonly StorageObject[]> {
  const ids = idsIn(await isUsed(rows.map(copyObject)))
  return rows.filter(({ id, attemptId }) => ids.has(id) || ids.has(attemptId))
}

function idsIn(answer: unknown): ReadonlySet<string> {
  // Not the array itself: its holes must not pass for ids.
  const ids: unknown[] | null = Array.isArray(answer) ? Array.from(answer) : null
  // A wrong answer, such as keys or rows, would name none of the objects, so all of them would be removed.
  const stray = ids?.findIndex((id) => !isAttemptId(id)) ?? -1
  if (ids !== null && stray === -1) return new Set(ids as string[])
  const got = ids === null ? shown(answer) : `${shown(ids[stray])} at index ${stray}`
  throw new TypeError(`db: isUsed must return an array of ids (got ${got}).`)
}
