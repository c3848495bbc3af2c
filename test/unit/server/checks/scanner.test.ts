import { cleanUp, deliverEvents, StorageError, type EventHandler, type StorageObject } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../conformance/clock.js'
import { BUCKET, errorOf } from '../service.js'
import {
  arrived,
  checkedService,
  DAY,
  KEY,
  olderVersion,
  OWNER,
  recorded,
  type CheckedService,
} from './checked.js'

type Scan = (object: StorageObject, service: CheckedService) => Promise<boolean>

/** A service with a scanner in `onEvent`, as the documentation has it. Events are delivered by the job alone. */
function scanned(scan: Scan) {
  const clock = new ManualClock()
  const calls: string[] = []
  const onEvent: EventHandler = async ({ type, object }) => {
    if (type !== 'arrived') return
    const { bucket, key, attemptId } = object
    calls.push(attemptId)
    try {
      const { body } = await service.s3.files.get({ bucket, key, attemptId, arrived: true })
      await new Response(body).arrayBuffer()
      const isClean = await scan(object, service)
      if (isClean) await service.s3.files.accept({ bucket, key, attemptId })
      else await service.s3.files.reject({ bucket, key, attemptId, reason: 'infected' })
    } catch (error) {
      if (!(error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND')) throw error
    }
  }
  const service: CheckedService = checkedService({
    ...{ clock, objects: memoryAdapter({ now: clock.now, events: true }), onEvent },
    // Deliveries after changes would run beside those of the job.
    waitUntil: () => undefined,
  })
  return { service, clock, calls, deliver: () => deliverEvents(service.s3) }
}

const activeOf = ({ objects }: CheckedService) => objects.findActive({ bucket: BUCKET, key: KEY })

describe('a scanner', () => {
  it('that is down delays its verdicts, and hides nothing and loses nothing', async () => {
    let isDown = true
    const { service, clock, deliver } = scanned(async () => {
      if (isDown) throw new Error('connect ECONNREFUSED')
      return true
    })
    await service.s3.close()
    const older = await olderVersion(service)
    const { row } = await arrived(service)
    for (let attempt = 1; attempt <= 3; attempt++) {
      await deliver()
      expect(await activeOf(service)).toEqual(older)
      clock.advance(3_600_000)
    }
    expect((await service.reportedBy('deliverEvents')).length).toBe(3)
    await cleanUp(service.s3)
    expect(await service.reportedBy('check')).toHaveLength(1)
    isDown = false
    await deliver()
    expect(await activeOf(service)).toMatchObject({ id: older.id, attemptId: row.id })
  })

  it('that is too slow has its upload rejected, and its verdict changes nothing', async () => {
    const { service, clock, deliver } = scanned(async (_object, slow) => {
      clock.advance(7 * DAY)
      await cleanUp(slow.s3)
      return true
    })
    await service.s3.close()
    const older = await olderVersion(service)
    const { attempt } = await arrived(service)
    await deliver()
    expect(await activeOf(service)).toEqual(older)
    expect(await errorOf(await service.as(OWNER).confirm(attempt.object))).toMatchObject({
      ...{ code: 'UPLOAD_REJECTED', params: { reason: 'no verdict' } },
    })
    await deliver()
    expect(await recorded(service)).toEqual([])
  })

  it.each([true, false])(
    'that is killed after its verdict gets the event again, and repeats nothing (%s)',
    async (isClean) => {
      let isKilled = true
      const { service, clock, calls, deliver } = scanned(async ({ bucket, key, attemptId }, { s3 }) => {
        if (!isKilled) return isClean
        isKilled = false
        if (isClean) await s3.files.accept({ bucket, key, attemptId })
        else await s3.files.reject({ bucket, key, attemptId, reason: 'infected' })
        throw new Error('killed')
      })
      await service.s3.close()
      const { row } = await arrived(service)
      await deliver()
      const verdict = await activeOf(service)
      clock.advance(3_600_000)
      await deliver()
      expect(calls).toEqual([row.id, row.id])
      expect(await activeOf(service)).toEqual(verdict)
      expect(verdict === null).toBe(!isClean)
      expect(await recorded(service)).toEqual([])
    },
  )

  it('gives no verdict on a newer upload', async () => {
    let isFirst = true
    const { service, deliver } = scanned(async () => {
      if (isFirst) {
        isFirst = false
        await arrived(service, { fill: 2 })
        return false
      }
      return true
    })
    await service.s3.close()
    await arrived(service, { fill: 1 })
    await deliver()
    expect(await service.as(OWNER).bytes(KEY)).toEqual(new Uint8Array(3).fill(2))
  })
})
