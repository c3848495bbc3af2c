import { toStorageError, type StorageError } from '../../core/errors.js'
import { chunksOf } from '../chunks.js'
import { SETTLED_AT_ONCE } from '../attempts/settle-reservation.js'

/** What became of one item: an outcome, or the error that kept it as it is. */
export type Outcome<Name, Result extends string> =
  | (Name & { readonly outcome: Result })
  | (Name & { readonly outcome: 'failed'; readonly error: StorageError })

/** Settles every item of every page, some side by side. One that fails is told and listed, and doesn't stop the others. */
export async function outcomesOf<Item, Name, Result extends string>(
  pages: AsyncIterable<readonly Item[]>,
  name: (item: Item) => Name,
  settle: (item: Item) => Promise<Result>,
  tell: (error: unknown) => void,
): Promise<Outcome<Name, Result>[]> {
  async function outcomeOf(item: Item): Promise<Outcome<Name, Result>> {
    try {
      return { ...name(item), outcome: await settle(item) }
    } catch (error) {
      tell(error)
      return { ...name(item), outcome: 'failed', error: toStorageError(error) }
    }
  }

  const outcomes: Outcome<Name, Result>[] = []
  for await (const page of pages) {
    for (const items of chunksOf(page, SETTLED_AT_ONCE))
      outcomes.push(...(await Promise.all(items.map(outcomeOf))))
  }
  return outcomes
}
