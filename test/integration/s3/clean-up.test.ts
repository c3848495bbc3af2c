import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { cleanUp } from '@svc/db'
import { expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { beginAndPut, bytesOfSize, outcomesOf } from '../../unit/server/service.js'
import { faultProxyTo } from './fault-proxy.js'
import { removeBucket } from '../../servers/s3-buckets.js'
import { bucketOfTest, clientOf, describeS3, freshName, keysIn } from './s3-server.js'
import { expectAccounted, FILE, LATER, REPORT, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'
const scopes = [ANN]

describeS3('cleanUp with s3Storage', (server) => {
  const client = clientOf(server)
  const proxy = faultProxyTo(server.endpoint)

  async function started(options: Parameters<typeof serviceOn>[2] = {}) {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket, { routes: { files: {} }, ...options })
    return { bucket, service, ann: service.as(ANN) }
  }

  it('confirms finished uploads and releases the others, in pages', async () => {
    const { service, ann, bucket } = await started()
    const uploaded = []
    for (let file = 0; file < 5; file++) {
      uploaded.push((await beginAndPut(ann)).object.id)
      await ann.begun()
    }
    service.clock.advance(LATER)
    const { reservations } = await cleanUp(service.s3, { limit: 3 })
    expect(reservations).toHaveLength(10)
    for (const { attemptId, outcome } of reservations) {
      expect(outcome).toBe(uploaded.includes(attemptId) ? 'confirmed' : 'released')
    }
    for (let run = 0; run < 2; run++) {
      service.clock.advance(LATER)
      await cleanUp(service.s3, { limit: 3 })
    }
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes })
    expect(await service.objects.getScopeUsage(ANN)).toMatchObject({ files: 5, bytes: 15 })
    expect(service.reported).toEqual([])
  })

  it('discards finished uploads with unconfirmed: discard', async () => {
    const { service, ann, bucket } = await started()
    await beginAndPut(ann)
    service.clock.advance(LATER)
    expect(outcomesOf((await cleanUp(service.s3, { unconfirmed: 'discard' })).reservations)).toEqual([
      'released',
    ])
    service.clock.advance(HOUR)
    expect(outcomesOf((await cleanUp(service.s3)).leftovers)).toEqual(['removed'])
    expect(await keysIn(client, bucket)).toEqual([])
    expect(outcomesOf((await cleanUp(service.s3)).leftovers)).toEqual(['forgotten'])
    await expectAccounted(service, { client, bucket, scopes })
  })

  it('removes replaced bytes, and no objects without a record', async () => {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket)
    const ann = service.as(ANN)
    const first = await ann.upload(REPORT, 1)
    const { storageKey: obsolete } = (await service.objects.findActive(first))!
    await ann.upload(REPORT, 2)
    const { storageKey: current } = (await service.objects.findActive(first))!
    const foreign = [first.key, `${obsolete}x`, obsolete!.slice(0, -1), `${first.key}~`, 'files/other']
    for (const Key of foreign) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'not ours' }))
    }
    service.clock.advance(LATER)
    expect(outcomesOf((await cleanUp(service.s3)).leftovers)).toEqual(['removed'])
    expect(outcomesOf((await cleanUp(service.s3)).leftovers)).toEqual(['forgotten'])
    expect((await keysIn(client, bucket)).sort()).toEqual([...foreign, current].sort())
    expect(await ann.bytes(first.key)).toEqual(bytesOfSize(3, 2))
  })

  it('reports the items that failed, continues with the others, and retries later', async () => {
    const bucket = await bucketOfTest(client)
    const through = clientOf(server, { endpoint: proxy.endpoint, maxAttempts: 1 })
    const service = serviceOn(through, bucket, { routes: { files: {} } })
    const ann = service.as(ANN)
    proxy.faults('none')
    const expired = [await beginAndPut(ann), await beginAndPut(ann), await beginAndPut(ann)]
    service.clock.advance(LATER)
    const broken = encodeURIComponent(expired[1]!.object.key).replaceAll('%2F', '/')
    proxy.faultsBy((request) => (request.includes(broken) ? { status: 503 } : 'none'))
    const failing = await cleanUp(service.s3)
    expect(outcomesOf(failing.reservations)).toEqual(['confirmed', 'failed', 'confirmed'])
    expect(failing.reservations[1]).toMatchObject({
      attemptId: expired[1]!.object.id,
      error: { code: 'STORAGE_UNAVAILABLE' },
    })
    expect(await service.reportedBy('cleanUp')).toMatchObject([
      { cause: { message: expect.stringContaining('HTTP 503') as string } },
    ])
    proxy.faults('none')
    expect(outcomesOf((await cleanUp(service.s3)).reservations)).toEqual(['confirmed'])

    // Then leftovers: a delete while the bucket is down.
    proxy.faults('cut before')
    for (const { object } of expired) expect((await ann.delete(object.key)).status).toBe(204)
    expect(await service.reportedBy('delete')).toHaveLength(3)
    service.clock.advance(LATER)
    proxy.faultsBy((request) => (request.includes(broken) ? 'cut before' : 'none'))
    expect(outcomesOf((await cleanUp(service.s3)).leftovers).sort()).toEqual(['failed', 'removed', 'removed'])
    proxy.faults('none')
    service.clock.advance(HOUR)
    for (let run = 0; run < 2; run++) await cleanUp(service.s3)
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes })
  })

  it('changes nothing if the bucket does not exist', async () => {
    const bucket = freshName()
    const service = serviceOn(client, bucket, { routes: { files: {} } })
    const ann = service.as(ANN)
    const kept = await ann.begun(FILE)
    const aborted = await ann.begun(FILE)
    await ann.abort(aborted.object)
    service.clock.advance(LATER)
    for (let run = 0; run < 2; run++) {
      const { reservations, leftovers } = await cleanUp(service.s3)
      expect([outcomesOf(reservations), outcomesOf(leftovers)]).toEqual([['failed'], ['failed']])
      service.clock.advance(HOUR)
    }
    expect(await service.objects.findPending(kept.object)).not.toBeNull()
    expect(await service.objects.listLeftovers()).toHaveLength(1)

    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const { reservations, leftovers } = await cleanUp(service.s3)
    expect([outcomesOf(reservations), outcomesOf(leftovers)]).toEqual([
      ['released'],
      ['waiting', 'forgotten'],
    ])
    await removeBucket(client, bucket)
  })

  it('is safe during confirms, aborts, downloads, and another run', async () => {
    const { service, ann, bucket } = await started()
    const begun = []
    for (let file = 0; file < 12; file++) begun.push(await beginAndPut(ann, file))
    service.clock.advance(LATER)
    const confirms = begun.slice(0, 8).map(({ object }) => ann.confirm(object))
    const aborts = begun.slice(8, 10).map(({ object }) => ann.abort(object))
    const jobs = [cleanUp(service.s3), cleanUp(service.s3, { limit: 2 })]
    for (const response of await Promise.all(confirms)) expect(response.status).toBe(200)
    const aborted = (await Promise.all(aborts)).filter(({ status }) => status === 204).length
    for (const { reservations, leftovers } of await Promise.all(jobs)) {
      expect([...outcomesOf(reservations), ...outcomesOf(leftovers)]).not.toContain('failed')
    }
    for (const [fill, { object }] of begun.slice(0, 8).entries()) {
      expect(await ann.bytes(object.key)).toEqual(bytesOfSize(3, fill))
    }
    for (let run = 0; run < 3; run++) {
      service.clock.advance(LATER)
      await Promise.all([cleanUp(service.s3), cleanUp(service.s3)])
    }
    expect(await service.objects.getScopeUsage(ANN)).toMatchObject({ files: 12 - aborted })
    await expectAccounted(service, { client, bucket, scopes })
    expect(await service.objects.listLeftovers()).toEqual([])
  })
})
