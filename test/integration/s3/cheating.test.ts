import { PutObjectCommand } from '@aws-sdk/client-s3'
import { cleanUp, eraseScope } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { bytesOfSize, errorOf, expectStatus, type Service } from '../../unit/server/service.js'
import { customerEncryption } from './browser-requests.js'
import { bucketOfTest, clientOf, describeS3, keysIn } from './s3-server.js'
import { expectAccounted, FILE, LATER, serviceOn } from './service-on-s3.js'

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
  async function expectNothingGained(service: Service, bucket: string, told: readonly unknown[] = []) {
    for (let run = 0; run < 3; run++) {
      service.clock.advance(LATER)
      await cleanUp(service.s3)
    }
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes })
    expect(service.reported.map(({ error }) => String(error))).toEqual(told)
  }

  describe('with bytes written to the bucket without the URL', () => {
    it.each([
      ['of another size', { Body: '1234' }],
      ['of another type', { ContentType: 'text/html' }],
      ['of another attempt', { Metadata: { 'attempt-id': '019ff7a0-0000-7000-8000-000000000000' } }],
      ['of no attempt', { Metadata: {} }],
    ])('%s creates no object, and the bytes are removed', async (kind, other) => {
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
      const told = kind === 'of no attempt' ? [expect.stringContaining('without the id of an attempt')] : []
      await expectNothingGained(service, bucket, told)
    })
  })

  it.each(['DELETE /object', 'files.delete', 'eraseScope'])(
    'with the upload URL of an object that %s removed shows nothing to holders of its download URL',
    async (how) => {
      const { service, ann, bucket } = await started()
      const { object, upload } = await ann.begun(FILE)
      await expectStatus(await ann.put(upload, bytesOfSize(3, 1)), 200)
      await expectStatus(await ann.confirm(object), 200)
      const { url } = (await expectStatus(await ann.download(object.key), 200)) as { url: string }
      if (how === 'DELETE /object') await expectStatus(await ann.delete(object.key), 204)
      else if (how === 'files.delete') await service.s3.files.delete({ key: object.key })
      else await eraseScope(service.s3, { scope: ANN })

      expect((await ann.put(upload, bytesOfSize(3, 2))).status).toBe(412)
      expect(await (await fetch(url)).text()).toBe('')
      await expectNothingGained(service, bucket)
    },
  )

  // A URL can't be signed for the absence of a header.
  it.each(['gzip', 'br', 'GZIP, identity'])(
    'with the unsigned header Content-Encoding: %s creates no object',
    async (encoding) => {
      const { service, ann, bucket } = await started()
      const { object, upload } = await ann.begun(FILE)
      expect((await ann.put(upload, bytesOfSize(3), { 'content-encoding': encoding })).status).toBe(200)
      expect(await errorOf(await ann.confirm(object))).toMatchObject({ code: 'UPLOAD_MISMATCH' })
      expect(await keysIn(client, bucket)).toEqual([])
      await expectNothingGained(service, bucket)
    },
  )

  it('with the unsigned header Content-Encoding: identity changes nothing', async () => {
    const { ann } = await started()
    const { object, upload } = await ann.begun(FILE)
    expect((await ann.put(upload, bytesOfSize(3), { 'content-encoding': 'identity' })).status).toBe(200)
    expect((await ann.confirm(object)).status).toBe(200)
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
})
