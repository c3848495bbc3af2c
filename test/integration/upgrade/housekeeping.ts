import { createAttemptId } from '@svc/db'
import { BUCKET, pick, randomBelow, SCOPES, type Caller } from './load.js'

/** Makes one of the calls of jobs and pages. */
export async function keepHouse({ store, version, call }: Caller): Promise<void> {
  const scope = pick(SCOPES)
  switch (randomBelow(7)) {
    case 0: {
      const id = createAttemptId()
      const attempt = { id, bucket: BUCKET, key: `expiring/${id}`, scope: 'ann', declaredSize: 5 }
      const expiresAt = new Date(Date.now() + 200)
      await call('reserve', () => store.reserve({ ...attempt, expiresAt, storageKey: `bytes/${id}` }))
      return
    }
    case 1:
      await call('purgeExpired', () => store.purgeExpired({ limit: 1 + randomBelow(20) }))
      return
    case 2: {
      const one = version === '2.0' && randomBelow(2) === 0 ? { scope } : {}
      await call('purgeDeleted', () => store.purgeDeleted({ before: new Date(), limit: 20, ...one }))
      return
    }
    case 3: {
      const [leftover] = (await call('listLeftovers', () => store.listLeftovers({ limit: 5 }))) ?? []
      if (!leftover) return
      const { attemptId } = leftover
      if (version === '1.5.5' || randomBelow(2) === 0) {
        await call('forgetLeftover', () => store.forgetLeftover({ attemptId }))
      } else {
        await call('deferLeftover', () => store.deferLeftover({ attemptId, until: new Date() }))
      }
      return
    }
    case 4:
      await call('listByScope', () => store.listByScope({ scope, limit: 20 }))
      return
    case 5:
      await call('getScopeUsage', () => store.getScopeUsage(scope))
      return
    case 6:
      if (version === '2.0') await call('listStored', () => store.listStored({ bucket: BUCKET, limit: 20 }))
  }
}
