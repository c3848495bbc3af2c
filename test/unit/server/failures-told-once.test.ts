import { cleanUp, transferScope, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { startService } from './service.js'

/** Long enough for every reservation in these tests to expire, plus an hour. */
const LATER = 3 * HOUR

/** Makes the bucket fail like a real one, where each message names its call. */
function failing(reasonOf: (at: { bucket: string; key: string }) => Error) {
  return (memory: ObjectStorage): ObjectStorage => {
    const fails = (operation: string) => (at: { bucket: string; key: string }) =>
      Promise.reject(
        new Error(`s3Storage: ${operation} failed in bucket "${at.bucket}".`, { cause: reasonOf(at) }),
      )
    const multipart = { ...memory.multipart!, list: fails('multipart.list'), listParts: fails('listParts') }
    return { ...memory, head: fails('head'), multipart }
  }
}

const REFUSED = () => Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })

describe('failures of the items of a job', () => {
  it('are reported once a run if a bucket is away, whichever call fails, and counted for each item', async () => {
    const service = startService({ storage: failing(REFUSED) })
    const ann = service.as('user:1')
    for (let number = 0; number < 3; number++) await ann.abort((await ann.begun()).object)
    const { key } = (await inParts.begun(ann)).object
    await service.objects.release({ bucket: 'files', key })
    for (let number = 0; number < 4; number++) await ann.begun()
    service.clock.advance(LATER)
    for (let run = 1; run <= 2; run++) {
      expect(await cleanUp(service.s3)).toMatchObject({
        reservations: { failed: 4 },
        leftovers: { failed: 4 },
      })
      expect(await service.reportedBy('cleanUp')).toHaveLength(run)
      service.clock.advance(2 * HOUR)
    }
  })

  it('are reported once for each bucket and reason', async () => {
    let failures = 0
    const reasonOf = (bucket: string) => (bucket === 'files' && failures++ % 2 === 0 ? 'refused' : 'reset')
    const service = startService({
      routes: { docs: {}, other: { bucket: 'other' } },
      storage: failing(({ bucket }) => new Error(reasonOf(bucket))),
    })
    for (const route of ['docs', 'docs', 'docs', 'docs', 'other', 'other']) {
      await service.as('user:1').begun({ route })
    }
    service.clock.advance(LATER)
    expect((await cleanUp(service.s3)).reservations.failed).toBe(6)
    expect(await service.reportedBy('cleanUp')).toHaveLength(3)
  })

  it('are reported ten times at most if each names its item', async () => {
    const service = startService({ storage: failing(({ key }) => new Error(`no permission for ${key}`)) })
    for (let number = 0; number < 15; number++) await service.as('user:1').begun()
    service.clock.advance(LATER)
    expect((await cleanUp(service.s3)).reservations.failed).toBe(15)
    expect(await service.reportedBy('cleanUp')).toHaveLength(10)
  })

  it('are all in the result of a job that lists them', async () => {
    const service = startService()
    for (let number = 0; number < 3; number++) await service.as('user:1').upload()
    const { failed } = await transferScope(service.s3, {
      from: 'user:1',
      to: 'user:2',
      quota: { maxBytes: 0 },
    })
    expect(failed).toHaveLength(3)
    expect(await service.reportedBy('transferScope')).toEqual([failed[0]!.error])
  })
})
