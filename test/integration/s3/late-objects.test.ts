import { s3Storage } from '@svc/db/s3'
import { beforeEach, expect, it } from 'vitest'
import { begun, complete, sendParts } from '../../unit/server/multipart/in-parts.js'
import { bytesOfSize, expectStatus } from '../../unit/server/service.js'
import { faultProxyTo } from './fault-proxy.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

/** Swift's replicas, and gateways that cache a 404. */
describeS3('a bucket that shows an object a moment after it was written', (server) => {
  const direct = clientOf(server)
  const bucket = freshBucket(direct)
  const proxy = faultProxyTo(server.endpoint)
  beforeEach(() => {
    let misses = 2
    proxy.faultsBy((request) => (/^HEAD \/[^/]+\/./.test(request) && misses-- > 0 ? { status: 404 } : 'none'))
  })
  const service = () => serviceOn(clientOf({ ...server, endpoint: proxy.endpoint }), bucket)

  it('POST /multipart/complete looks again', async () => {
    const ann = service().as('user:ann')
    const parts = await begun(ann, { route: 'files' })
    await sendParts(ann, parts)
    await expectStatus(await complete(ann, parts), 200)
  })

  it.each([3, 9 * 1024 ** 2])('files.put of %d bytes looks again', async (size) => {
    const file = { scope: 'user:ann', route: 'files', filename: 'a', body: bytesOfSize(size) }
    expect(await service().s3.files.put(file)).toMatchObject({ status: 'active', size })
  })

  it('looks no more once the attempt has ended', async () => {
    const { s3, objects } = serviceOn(direct, bucket, {
      storage: () => ({
        ...s3Storage({ client: direct }),
        async head({ key }) {
          await objects.release({ bucket, key, id: (await objects.findPending({ bucket, key }))!.id })
          return null
        },
      }),
    })
    const file = { scope: 'user:ann', route: 'files', filename: 'a', body: bytesOfSize(3) }
    await expect(s3.files.put(file)).rejects.toMatchObject({ code: 'UPLOAD_MISMATCH' })
  })
})
