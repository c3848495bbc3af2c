import { PutObjectCommand } from '@aws-sdk/client-s3'
import { cleanUp } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { bytesOfSize, errorOf, outcomesOf, type Service } from '../../unit/server/service.js'
import { customerEncryption } from './browser-requests.js'
import { bucketOfTest, clientOf, describeS3, keysIn } from './s3-server.js'
import { expectAccounted, FILE, LATER, REPORT, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'
const BOB = 'user:bob'
const scopes = [ANN, BOB]

describeS3('an attack on a server with s3Storage', (server) => {
  const client = clientOf(server)

  async function started(options = {}) {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket, options)
    return { bucket, service, ann: service.as(ANN), bob: service.as(BOB) }
  }

  /** Runs cleanUp after the attack, and checks the state. */
  async function expectNothingGained(service: Service, bucket: string): Promise<void> {
    for (let run = 0; run < 3; run++) {
      service.clock.advance(LATER)
      await cleanUp(service.s3)
    }
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes })
    expect(service.reported).toEqual([])
  }

  it('with a confirm before the upload creates no object and keeps the reservation', async () => {
    const { service, ann, bucket } = await started()
    const { object } = await ann.begun(FILE)
    expect(await errorOf(await ann.confirm(object))).toMatchObject({ status: 409, code: 'UPLOAD_MISMATCH' })
    expect(await service.objects.getScopeUsage(ANN)).toMatchObject({ files: 0, reservedBytes: 3 })
    await expectNothingGained(service, bucket)
  })

  it("with a confirm of another attempt's id creates no object", async () => {
    const { service, ann, bob, bucket } = await started()
    const uploaded = await ann.begun(FILE)
    expect((await ann.put(uploaded.upload, bytesOfSize(3))).status).toBe(200)
    const empty = await bob.begun(FILE)
    const wrong = [
      [ann, { key: uploaded.object.key, id: empty.object.id }, 404],
      [bob, { key: uploaded.object.key, id: empty.object.id }, 404],
      [bob, uploaded.object, 404],
      [bob, { key: empty.object.key, id: uploaded.object.id }, 404],
      [bob, empty.object, 409],
    ] as const
    for (const [caller, attempt, status] of wrong) expect((await caller.confirm(attempt)).status).toBe(status)
    expect((await ann.confirm(uploaded.object)).status).toBe(200)
    await expectNothingGained(service, bucket)
    expect(await service.objects.getScopeUsage(ANN)).toMatchObject({ bytes: 3, files: 1 })
    expect(await service.objects.getScopeUsage(BOB)).toMatchObject({ bytes: 0, files: 0 })
  })

  it('with a confirm of one attempt for the bytes of another at the same key creates no object', async () => {
    const { service, ann, bucket } = await started()
    const first = await ann.begun(REPORT)
    await ann.put(first.upload, bytesOfSize(3))
    const second = await ann.begun(REPORT)
    expect((await ann.confirm(first.object)).status).toBe(404)
    expect((await ann.confirm(second.object)).status).toBe(409)
    await expectNothingGained(service, bucket)
    expect(await keysIn(client, bucket)).toEqual([])
  })

  it.each([0, 2, 4, 300_000])('with %d bytes instead of 3 is refused by the bucket', async (size) => {
    const { service, ann, bucket } = await started({ quota: { maxBytes: 3 } })
    const { object, upload } = await ann.begun(FILE)
    expect((await ann.put(upload, bytesOfSize(size))).status).toBe(403)
    expect(await keysIn(client, bucket)).toEqual([])
    expect((await ann.confirm(object)).status).toBe(409)
    await expectNothingGained(service, bucket)
  })

  it('with a second upload to the same URL changes nothing', async () => {
    const { service, ann, bucket } = await started()
    const { object, upload } = await ann.begun(FILE)
    await ann.put(upload, bytesOfSize(3, 1))
    expect((await ann.put(upload, bytesOfSize(3, 2))).status).toBe(412)
    expect((await ann.confirm(object)).status).toBe(200)
    expect((await ann.put(upload, bytesOfSize(3, 2))).status).toBe(412)
    expect(await ann.bytes(object.key)).toEqual(bytesOfSize(3, 1))
    await expectNothingGained(service, bucket)
  })

  describe('with bytes written to the bucket without the URL', () => {
    it.each([
      ['of another size', { Body: '1234' }],
      ['of another type', { ContentType: 'text/html' }],
      ['of another attempt', { Metadata: { 'attempt-id': '019ff7a0-0000-7000-8000-000000000000' } }],
      ['of no attempt', { Metadata: {} }],
    ])('%s creates no object, and the bytes are removed', async (_, other) => {
      const { service, ann, bucket } = await started()
      const { object } = await ann.begun(FILE)
      const { storageKey } = (await service.objects.findPending(object))!
      await client.send(
        new PutObjectCommand({
          ...{ Bucket: bucket, Key: storageKey!, Body: '123', ContentType: 'text/plain' },
          Metadata: { 'attempt-id': object.id },
          ...other,
        }),
      )
      expect((await ann.confirm(object)).status).toBe(409)
      expect(await keysIn(client, bucket)).toEqual([])
      expect((await ann.confirm(object)).status).toBe(404)
      await expectNothingGained(service, bucket)
    })
  })

  it('with an upload after an abort or a delete leaves bytes that cleanUp removes', async () => {
    const { service, ann, bucket } = await started()
    const aborted = await ann.begun(FILE)
    expect((await ann.abort(aborted.object)).status).toBe(204)
    const deleted = await ann.begun(FILE)
    await ann.put(deleted.upload, bytesOfSize(3))
    await ann.confirm(deleted.object)
    expect((await ann.delete(deleted.object.key)).status).toBe(204)
    for (const { upload } of [aborted, deleted]) {
      expect((await ann.put(upload, bytesOfSize(3))).status).toBe(200)
    }
    expect(await keysIn(client, bucket)).toHaveLength(2)
    await expectNothingGained(service, bucket)
    expect(await keysIn(client, bucket)).toEqual([])
  })

  // Amazon S3 refuses unsigned headers. Other services accept them, and the server can no longer read the file.
  it.each([
    ['confirms', 'UPLOAD_MISMATCH', 0],
    ['aborts', undefined, 1],
    ['leaves', undefined, 1],
  ] as const)(
    'with customer encryption (SSE-C), then %s, leaves nothing in the bucket',
    async (then, code, left) => {
      const { service, ann, bucket } = await started()
      const { object, upload } = await ann.begun(FILE)
      const sealed = { ...upload, headers: { ...upload.headers, ...customerEncryption() } }
      const { status } = await ann.put(sealed, bytesOfSize(3))
      if (status === 200) {
        if (then === 'confirms') expect(await errorOf(await ann.confirm(object))).toMatchObject({ code })
        if (then === 'aborts') expect((await ann.abort(object)).status).toBe(204)
        expect(await keysIn(client, bucket)).toHaveLength(left)
      } else {
        expect([400, 403]).toContain(status)
      }
      await expectNothingGained(service, bucket)
      expect(await keysIn(client, bucket)).toEqual([])
    },
  )

  it('with many concurrent uploads never exceeds the quota', async () => {
    const { service, ann, bucket } = await started({ quota: { maxBytes: 30 } })
    const responses = await Promise.all(Array.from({ length: 16 }, () => ann.begin(FILE)))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10)
    const begun = (await Promise.all(
      responses.filter(({ status }) => status === 201).map((response) => response.json()),
    )) as Awaited<ReturnType<typeof ann.begun>>[]
    await Promise.all(
      begun.map(async ({ object, upload }) => {
        await ann.put(upload, bytesOfSize(3))
        expect((await ann.confirm(object)).status).toBe(200)
      }),
    )
    expect((await ann.begin(FILE)).status).toBe(413)
    await expectAccounted(service, { client, bucket, scopes })
    expect(await service.objects.getScopeUsage(ANN)).toMatchObject({ bytes: 30, files: 10 })
    expect(outcomesOf((await cleanUp(service.s3)).leftovers)).toEqual([])
  })
})
