import type { StorageObjectStore } from '@svc/db'
import { it } from 'vitest'
import { checkRaces } from '../../unit/server/checks/races.js'
import { itKeepsWhatWasKept } from '../../unit/server/temporary-property.js'
import type { emptyStores } from '../drivers/empty-stores.js'

type EmptyStores = Pick<ReturnType<typeof emptyStores>, 'createStore' | 'reopen' | 'close'>

/** Creates a function that opens a store with events on an empty place, and gives back that of the store before. */
function oneAfterAnother({ createStore, close }: EmptyStores) {
  let last: StorageObjectStore | undefined
  return async (now: () => Date) => {
    if (last) close(last)
    return (last = await createStore({ now, events: true }))
  }
}

/** Runs verdicts, uploads and jobs at once on a database, in random orders. */
export function itChecksUploads(stores: EmptyStores, numRuns: number): void {
  it('verdicts and jobs at once show and lose nothing', () => {
    const next = oneAfterAnother(stores)
    return checkRaces(numRuns, ({ now }) => next(now))
  })
}

/** Runs uploads, keeps, ends and jobs on a database, by stores whose clocks differ. */
export function itKeepsTemporaryObjects(stores: EmptyStores, numRuns: number): void {
  const next = oneAfterAnother(stores)
  itKeepsWhatWasKept(async () => {
    const store = await next(() => new Date())
    return (now) => stores.reopen(store, { now })
  }, numRuns)
}
