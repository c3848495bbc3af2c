import { eraseScope } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { beforeEach, describe, expect, it } from 'vitest'
import { begun, complete, PART, sendParts, signed } from '../../unit/server/multipart/in-parts.js'
import { MINUTE } from '../../conformance/clock.js'
import { bytesOfSize, cleanUpItems, errorOf, expectStatus, outcomesOf } from '../../unit/server/service.js'
import { faultProxyTo } from './fault-proxy.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { FILE, LATER, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'

const refusal = (status: number, code: string, more = '') => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}.</Message>${more}</Error>`,
})

/** Each block answers some calls as a service does that the tests don't have, and leaves the others to the real one. */
describeS3('a server with a bucket of another service', (server) => {
  const direct = clientOf(server)
  const bucket = freshBucket(direct)
  const directly = s3Storage({ client: direct })
  const proxy = faultProxyTo(server.endpoint)
  beforeEach(() => proxy.faults('none'))
  const service = () =>
    serviceOn(clientOf({ ...server, endpoint: proxy.endpoint }, { maxAttempts: 1 }), bucket)
  const file = (size: number) => ({ scope: ANN, route: 'files', filename: 'a', body: bytesOfSize(size) })

  it('works with credentials that may not HEAD the bucket', async () => {
    proxy.faultsBy((request) => (/^HEAD \/[^/]+\/?$/.test(request) ? { status: 403 } : 'none'))
    const { s3, objects, clock, as } = service()
    const early = await as(ANN).begun(FILE)
    expect(await errorOf(await as(ANN).confirm(early.object))).toMatchObject({ code: 'UPLOAD_MISMATCH' })
    const { object } = await as(ANN).begun(FILE)
    await as(ANN).abort(object)
    clock.advance(LATER)
    const { reservations, leftovers } = await cleanUpItems(s3)
    expect([outcomesOf(reservations), outcomesOf(leftovers)]).toEqual([
      ['released'],
      ['waiting', 'forgotten'],
    ])
    expect(await objects.getScopeUsage(ANN)).toMatchObject({ reservedFiles: 0 })
    await as(ANN).upload(FILE)
    expect(await eraseScope(s3, { scope: ANN })).toMatchObject({ failed: [] })
  })

  it('tells when a URL ends whose credentials end first', async () => {
    const lifetime = 5 * MINUTE
    const role = () => Promise.resolve({ ...server.owner, expiration: new Date(Date.now() + lifetime) })
    const { s3, clock, as } = serviceOn(clientOf(server, { credentials: role }), bucket)
    const ann = as(ANN)
    const { upload } = await ann.begun(FILE)
    const [part] = await signed(ann, await begun(ann, FILE))
    const { key } = await s3.files.put(file(1))
    const download = (await expectStatus(await ann.download(key), 200)) as { expiresAt: string }
    const { expiresAt } = await s3.files.downloadURL({ key })
    for (const given of [upload.expiresAt, part!.expiresAt, download.expiresAt, expiresAt]) {
      const left = new Date(given).getTime() - clock.now().getTime()
      // The SDK reads the bucket's clock from a header in whole seconds.
      expect(left).toBeLessThan(2 * lifetime)
      expect(left).toBeGreaterThan(0)
    }
  })

  describe('where a write conflicts with another one', () => {
    const conflict = refusal(409, 'ConditionalRequestConflict')

    it.each([1, PART + 1])('files.put of %d bytes waits and tries again', async (size) => {
      let conflicts = 2
      proxy.faultsBy((request) =>
        /^(?:PUT .*x-id=PutObject|POST .*[?&]uploadId=)/.test(request) && conflicts-- > 0 ? conflict : 'none',
      )
      expect(await service().s3.files.put(file(size))).toMatchObject({ status: 'active', size })
      expect(conflicts).toBeLessThan(0)
    })

    it('POST /multipart/complete waits and tries again', async () => {
      let conflicts = 2
      proxy.faultsBy((request) =>
        request.startsWith('POST') && request.includes('uploadId=') && conflicts-- > 0 ? conflict : 'none',
      )
      const ann = service().as(ANN)
      const parts = await begun(ann, FILE)
      await sendParts(ann, parts)
      await expectStatus(await complete(ann, parts), 200)
    })

    it('files.put looks for its bytes if the repeated write finds some', async () => {
      // The first try has stored the bytes, although its response says otherwise.
      const { s3 } = service()
      let isFirst = true
      proxy.faultsBy((request) => {
        if (!request.startsWith('PUT') || !isFirst) return 'none'
        isFirst = false
        return { instead: conflict }
      })
      expect(await s3.files.put(file(1))).toMatchObject({ status: 'active', size: 1 })
    })
  })

  describe('whose bucket has a default retention (Object Lock)', () => {
    beforeEach(() =>
      proxy.faultsBy((request, headers) => {
        if (!request.startsWith('PUT ')) return 'none'
        const isPart = request.includes('partNumber=')
        const hasChecksum = Object.keys(headers).some((name) => name.startsWith('x-amz-checksum-'))
        // An upload that was begun without an algorithm takes no part with one.
        if (isPart && hasChecksum) return refusal(400, 'InvalidRequest')
        return hasChecksum || 'content-md5' in headers ? 'none' : refusal(400, 'InvalidRequest')
      }),
    )

    it.each([1, PART + 1])('files.put stores %d bytes', async (size) => {
      expect(await service().s3.files.put(file(size))).toMatchObject({ status: 'active', size })
    })

    it('a deleted object gives way to an empty one', async () => {
      const { s3 } = service()
      const { key, storageKey } = await s3.files.put(file(1))
      await s3.files.delete({ key })
      expect(await directly.head({ bucket, key: storageKey! })).toMatchObject({ size: 0 })
    })
  })

  it('says that archived bytes must be restored, and that retrying does not help', async () => {
    const { s3 } = service()
    const { key } = await s3.files.put(file(3))
    proxy.faultsBy((request) =>
      request.startsWith('GET')
        ? refusal(403, 'InvalidObjectState', '<StorageClass>GLACIER</StorageClass>')
        : 'none',
    )
    await expect(s3.files.get({ key })).rejects.toMatchObject({
      ...{ code: 'STORAGE_UNAVAILABLE', retryable: false },
      message:
        'The bytes are archived (storage class GLACIER). Restore them in the bucket before reading them.',
    })
  })

  it('forgets leftovers where uploads in parts can not be listed, and aborts those on record', async () => {
    proxy.faultsBy((request) =>
      /^GET \/[^/?]+\/?\?.*uploads/.test(request) ? refusal(501, 'NotImplemented') : 'none',
    )
    const own = service()
    const ann = own.as(ANN)
    const { object } = await begun(ann, FILE)
    await ann.abort((await ann.begun(FILE)).object)
    for (let run = 0; run < 3; run++) {
      own.clock.advance(6 * LATER)
      expect(outcomesOf((await cleanUpItems(own.s3)).leftovers)).not.toContain('failed')
    }
    expect(await own.objects.listLeftovers()).toEqual([])
    expect(await directly.multipart!.list(object)).toEqual([])
  })
})
