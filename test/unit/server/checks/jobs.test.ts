import {
  checkStorage,
  cleanUp,
  endUploads,
  eraseScope,
  importObjects,
  transferScope,
  type StorageObject,
} from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { begun, sent } from '../doors.js'
import { around, BUCKET, bytesOfSize, cleanUpItems, errorOf, outcomesOf } from '../service.js'
import {
  arrived,
  checkedService,
  DAY,
  KEY,
  olderVersion,
  OWNER,
  recorded,
  uploads,
  verdictOn,
} from './checked.js'

/** Returns the messages that were reported about checks. */
async function told(service: ReturnType<typeof checkedService>): Promise<string[]> {
  return (await service.reportedBy('check')).map((error) => (error as Error).message)
}

/** Stores waiting files of their own keys. */
async function waiting({ s3 }: ReturnType<typeof checkedService>, count: number): Promise<StorageObject[]> {
  const rows = []
  for (let index = 0; index < count; index++) {
    const file = { scope: OWNER, route: 'plain', key: `waiting-${index}`, body: bytesOfSize(3) }
    rows.push(await s3.files.put({ ...file, checkSeconds: 2 * 3600 }))
  }
  return rows
}

describe('cleanUp', () => {
  it('rejects an upload that had no verdict in time, and tells onError', async () => {
    const rejected: unknown[] = []
    const service = checkedService({ hooks: { onRejected: ({ reason }) => void rejected.push(reason) } })
    const { attempt, row } = await arrived(service)
    service.clock.advance(7 * DAY - 1)
    expect(await cleanUpItems(service.s3)).toEqual({ reservations: [], temporary: [], leftovers: [] })
    service.clock.advance(1)
    const { reservations } = await cleanUpItems(service.s3)
    const { bucket, key, attemptId } = row
    expect(reservations).toEqual([{ bucket, key, attemptId, outcome: 'released' }])
    expect(rejected).toEqual(['no verdict'])
    expect(await recorded(service)).toEqual(['arrived', 'rejected'])
    expect(await errorOf(await service.as(OWNER).confirm(attempt.object))).toMatchObject({
      ...{ code: 'UPLOAD_REJECTED', params: { reason: 'no verdict' } },
    })
    const [late, over, ...more] = await told(service)
    expect(late).toMatch(
      new RegExp(`^The upload ${row.id} in the bucket "files" has waited for its check since 2026`),
    )
    expect(over).toMatch(/The time for its check is over, so it was rejected\.$/)
    expect(more).toEqual([])
    service.clock.advance(48 * HOUR)
    await cleanUp(service.s3)
    await cleanUp(service.s3)
    expect(await service.objects.listLeftovers()).toEqual([])
  })

  it('lets a verdict count that comes after the time, and one that is faster than the run', async () => {
    const service = checkedService()
    const first = await arrived(service)
    service.clock.advance(8 * DAY)
    expect(await service.s3.files.accept(verdictOn(first.row))).toMatchObject({ status: 'active' })
    const { row } = await arrived(service, { route: 'once' })
    service.clock.advance(2 * HOUR)
    around(service.objects, 'reject', (reject) => async (input) => {
      if (input.reason === 'no verdict') await service.s3.files.accept(verdictOn(row))
      return reject(input)
    })
    expect(outcomesOf((await cleanUpItems(service.s3)).reservations)).toEqual(['gone'])
    expect(await service.objects.countByScope(OWNER, 'active')).toBe(2)
    expect(await told(service)).toEqual([])
  })

  it('tells once of each upload that has waited for an hour, at most 10 a minute', async () => {
    const service = checkedService()
    await waiting(service, 12)
    service.clock.advance(HOUR - 1)
    await cleanUp(service.s3)
    expect(await told(service)).toEqual([])
    service.clock.advance(1)
    await cleanUp(service.s3)
    await cleanUp(service.s3)
    expect(await told(service)).toHaveLength(10)
    service.clock.advance(60_000)
    await cleanUp(service.s3, { limit: 1 })
    expect(new Set(await told(service)).size).toBe(12)
    service.clock.advance(60_000)
    await cleanUp(service.s3)
    expect(await told(service)).toHaveLength(12)
    service.clock.advance(HOUR)
    await cleanUp(service.s3)
    expect(await told(service)).toHaveLength(22)
    expect(await service.objects.countByScope(OWNER)).toBe(0)
  })

  it('looks at a thousand waiting uploads a run, and goes on behind them in the next one', async () => {
    const service = checkedService()
    const at = { scope: OWNER, bucket: BUCKET, declaredSize: 1 }
    const terms = { checkSeconds: 7200, expiresAt: service.clock.in(HOUR) }
    for (let index = 0; index <= 1000; index++) {
      const named = { ...at, key: `${index}`, storageKey: `${index}~` }
      const { id } = await service.objects.reserve({ ...named, ...terms })
      await service.objects.confirm({ ...named, id, size: 1 })
    }
    const seen: string[] = []
    around(service.objects, 'listArrived', (list) => async (input) => {
      const rows = await list(input)
      seen.push(...rows.map(({ id }) => id))
      return rows
    })
    for (const count of [1000, 1001, 2001]) {
      await cleanUp(service.s3)
      expect(seen).toHaveLength(count)
    }
    expect(new Set(seen.slice(0, 1001)).size).toBe(1001)
    expect(await told(service)).toEqual([])
  })

  it('marks a late arrival as confirmed, and passes over what has arrived', async () => {
    const service = checkedService({ pendingTtlSeconds: 3600 })
    const { object } = await sent(uploads[0]!, service.as(OWNER), { route: 'docs' })
    service.clock.advance(2 * HOUR)
    for (const unconfirmed of ['confirm', 'discard'] as const) {
      const { reservations } = await cleanUpItems(service.s3, { unconfirmed })
      expect(outcomesOf(reservations)).toEqual(unconfirmed === 'confirm' ? ['confirmed'] : [])
    }
    const row = await service.objects.findPending({ bucket: BUCKET, key: KEY })
    expect(row).toMatchObject({ id: object.id, arrivedAt: service.clock.now() })
  })

  it.each(uploads)('never ends what arrives by $name while the run looks at it', async (upload) => {
    const service = checkedService({ pendingTtlSeconds: 3600 })
    const attempt = await begun(upload, service.as(OWNER), { route: 'docs' })
    await upload.send(service.as(OWNER), attempt)
    service.clock.advance(2 * HOUR)
    around(service.objects, 'release', (release) => async (input) => {
      expect((await upload.finish(service.as(OWNER), attempt)).status).toBe(200)
      return release(input)
    })
    expect(outcomesOf((await cleanUpItems(service.s3, { unconfirmed: 'discard' })).reservations)).toEqual([
      'gone',
    ])
    expect((await service.objects.findPending({ bucket: BUCKET, key: KEY }))?.arrivedAt).not.toBeNull()
  })

  it('leaves waiting uploads alone in buckets that the server does not know', async () => {
    const service = checkedService()
    const term = { checkSeconds: 60, expiresAt: service.clock.in(HOUR) }
    const at = { scope: OWNER, bucket: 'other', key: 'k', storageKey: 'k1', declaredSize: 3 }
    const { id } = await service.objects.reserve({ ...at, ...term })
    await service.objects.confirm({ ...at, id, size: 3 })
    service.clock.advance(2 * HOUR)
    expect(await cleanUpItems(service.s3)).toEqual({ reservations: [], temporary: [], leftovers: [] })
    expect(await service.objects.listArrived()).toHaveLength(1)
    expect(await told(service)).toEqual([])
  })
})

describe('other jobs', () => {
  it.each(uploads)('endUploads leaves what has arrived by $name, and eraseScope ends it', async (upload) => {
    const service = checkedService()
    const { row, attempt } = await arrived(service, { upload })
    await sent(upload, service.as(OWNER), { route: 'once' })
    expect(await endUploads(service.s3, { scope: OWNER })).toEqual({ ended: 1, failed: [] })
    expect(await service.objects.findPending(row)).toEqual(row)
    const other = await arrived(service, { upload, route: 'once' })
    await service.s3.files.reject(verdictOn(other.row))

    const erased = await eraseScope(service.s3, { scope: OWNER })
    expect(erased).toMatchObject({ objects: 0, reservations: 1, failed: [] })
    expect(await service.objects.countByScope(OWNER)).toBe(0)
    for (const { object } of [attempt, other.attempt]) {
      const gone = await errorOf(await service.as(OWNER).confirm({ ...object }))
      expect(gone.code).toBe('OBJECT_NOT_FOUND')
    }
    service.clock.advance(DAY)
    await cleanUp(service.s3)
    await cleanUp(service.s3)
    expect((await service.storage.list!({ bucket: BUCKET, limit: 100 })).items).toEqual([])
  })

  it('endUploads leaves an upload that arrives during the run', async () => {
    const service = checkedService()
    const attempt = await sent(uploads[0]!, service.as(OWNER), { route: 'docs' })
    around(service.objects, 'release', (release) => async (input) => {
      await service.as(OWNER).confirm(attempt.object)
      return release(input)
    })
    expect(await endUploads(service.s3, { scope: OWNER })).toEqual({ ended: 0, failed: [] })
    expect(await service.objects.listArrived()).toHaveLength(1)
  })

  it('transferScope lists waiting files as failed, and gives them after the verdict', async () => {
    const service = checkedService()
    await olderVersion(service)
    const { row } = await arrived(service)
    const { row: fresh } = await arrived(service, { route: 'once' })
    const run = () => transferScope(service.s3, { from: OWNER, to: 'user:2' })
    const { transferred, failed } = await run()
    expect(transferred).toBe(0)
    expect(failed.map(({ key, error }) => [key, (error as { code?: string }).code])).toEqual([
      [KEY, 'KEY_CONFLICT'],
      ['once', 'KEY_CONFLICT'],
    ])
    await service.s3.files.accept(verdictOn(row))
    await service.s3.files.reject(verdictOn(fresh))
    expect(await run()).toEqual({ transferred: 1, failed: [] })
  })

  it('checkStorage and importObjects know the bytes that wait', async () => {
    const service = checkedService()
    await arrived(service)
    service.clock.advance(2 * DAY)
    const differences: unknown[] = []
    const onDifference = (difference: unknown) => void differences.push(difference)
    await checkStorage(service.s3, { onDifference })
    expect(differences).toEqual([])
    const select = () => ({ scope: 'user:2' })
    expect(await importObjects(service.s3, { select })).toMatchObject({ imported: 0, known: 1, failed: [] })
  })
})
