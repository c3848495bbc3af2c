import { expect, it } from 'vitest'
import { ManualClock, SECOND } from '../../conformance/clock.js'
import { get } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

const THIRD = 300 * SECOND

describeS3('GET /file with s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)

  it('redirects to the same URL within a third of its lifetime, and the bytes can be cached', async () => {
    const clock = new ManualClock()
    const caller = serviceOn(client, bucket, { clock }).as('user:1')
    const { key, id } = await caller.upload({ route: 'files', contentType: 'image/png', filename: 'a.png' })
    const location = async (parameters: Record<string, string>) =>
      (await caller.file({ disposition: 'inline', ...parameters })).headers.get('location')!
    const first = await location({ key })
    clock.advance(THIRD / 2)
    expect(await location({ id })).toBe(first)
    clock.advance(THIRD / 2 - 1)
    expect(await location({ id })).toBe(first)

    const { status, headers } = await get(first)
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="a.png"; filename*=UTF-8''a.png`,
      'cache-control': 'private, immutable, max-age=600',
    })

    clock.advance(1)
    const second = await location({ key })
    expect(second).not.toBe(first)
    expect((await get(second)).status).toBe(200)
    expect(await location({ key, disposition: 'attachment' })).not.toBe(second)
  })
})
