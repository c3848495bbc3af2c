import { toStorageError, type StorageError } from '../../../core/errors.js'
import { settlementBatches } from '../../attempts/settle-reservation.js'

/** The result for one item: its outcome, or the error that left it unchanged. */
export type Outcome<Name, Result extends string> =
  | (Name & { readonly outcome: Result })
  | (Name & { readonly outcome: 'failed'; readonly error: StorageError })

/** Settles every item of every page, a few concurrently. Reports an item that fails, and continues with the others. */
export async function settleAll<Item, Name, Result extends string>(
  pages: AsyncIterable<readonly Item[]>,
  name: (item: Item) => Name,
  settle: (item: Item) => Promise<Result>,
  report: (error: unknown) => void,
): Promise<Outcome<Name, Result>[]> {
  async function outcomeOf(item: Item): Promise<Outcome<Name, Result>> {
    try {
      return { ...name(item), outcome: await settle(item) }
    } catch (error) {
      report(error)
      return { ...name(item), outcome: 'failed', error: toStorageError(error) }
    }
  }

  const outcomes: Outcome<Name, Result>[] = []
  for await (const page of pages) {
    for (const batch of settlementBatches(page)) outcomes.push(...(await Promise.all(batch.map(outcomeOf))))
  }
  return outcomes
}
