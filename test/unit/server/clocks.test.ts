import { memoryStorage, type ObjectStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect, it } from 'vitest'
import { ManualClock, MINUTE } from '../../conformance/clock.js'
import { bytesOfSize, expectStatus, startService } from './service.js'

it('keeps a deleted object deleted, although the clock of the process that deletes it is three minutes ahead', async () => {
  const [clock, ahead] = [new ManualClock(), new ManualClock()]
  ahead.advance(3 * MINUTE)
  const objects = memoryAdapter({ now: clock.now })
  const bucket = memoryStorage({ now: clock.now })
  // As a bucket service does: only what may still be written is closed, by the clock of the process that asks for it.
  const of = (process: ManualClock) => (): ObjectStorage => ({
    ...bucket,
    remove: ({ writableUntil, ...at }) =>
      bucket.remove({
        ...at,
        writableUntil: writableUntil && writableUntil > process.now() ? writableUntil : null,
      }),
  })
  const ann = startService({ clock, objects, storage: of(clock) }).as('user:ann')
  const other = startService({ clock: ahead, objects, storage: of(ahead) }).as('user:ann')

  const { object, upload } = await ann.begun({ size: 3 })
  await expectStatus(await ann.put(upload, bytesOfSize(3, 1)), 200)
  await expectStatus(await ann.confirm(object), 200)
  for (const each of [clock, ahead]) each.advance(14 * MINUTE)
  await expectStatus(await other.delete(object.key), 204)
  expect((await ann.put(upload, bytesOfSize(3, 2))).status).toBe(409)
})
