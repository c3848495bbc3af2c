import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { cleanUp } from '@svc/db'
import { expect, it } from 'vitest'
import { expectStatus, outcomesOf, type Begun, type Caller } from '../../unit/server/service.js'
import { put } from './browser-requests.js'
import { faultProxyTo } from './fault-proxy.js'
import { bucketOfTest, clientOf, describeS3 } from './s3-server.js'
import { expectAccounted, FILE, LATER, serviceOn } from './service-on-s3.js'

const MIB = 1024 ** 2
const ANN = 'user:ann'

interface BegunInParts {
  readonly object: Begun['object']
  readonly uploadId: string
  readonly partSize: number
}

describeS3('multipart uploads with s3Storage', (server) => {
  const client = clientOf(server)

  const proxy = faultProxyTo(server.endpoint)

  async function uploadsIn(bucket: string): Promise<number> {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    return Uploads.length
  }

  async function started(quota?: { maxBytes: number }) {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket, quota ? { quota } : {})
    const ann = service.as(ANN)
    const begin = async (size: number) => {
      const file = { ...FILE, filename: 'film.mp4', contentType: 'video/mp4', size }
      return (await expectStatus(await ann.send('POST', '/multipart', file), 201)) as BegunInParts
    }
    return { bucket, service, ann, begin }
  }

  const verb = (ann: Caller, name: string, { object, uploadId }: BegunInParts, more: object = {}) =>
    ann.send('POST', `/multipart/${name}`, { key: object.key, id: object.id, uploadId, ...more })

  async function urlOf(ann: Caller, begun: BegunInParts, partNumber: number): Promise<string> {
    const response = await verb(ann, 'parts', begun, { partNumbers: [partNumber] })
    const { parts } = (await expectStatus(response, 200)) as { parts: { url: string }[] }
    return parts[0]!.url
  }

  it('and single-PUT uploads accept every spelling of a media type', async () => {
    const { ann } = await started()
    for (const contentType of ['text/plain;\ta=b', 'a/b; x="a\tb  c"', 'a/b;x="\\""', 'a/b;']) {
      const begun = await ann.begun({ ...FILE, contentType })
      expect((await ann.put(begun.upload, new Uint8Array(3))).status).toBe(200)
      expect((await ann.confirm(begun.object)).status).toBe(200)
      const file = { ...FILE, filename: 'a', contentType, size: 3 }
      const inParts = (await expectStatus(await ann.send('POST', '/multipart', file), 201)) as BegunInParts
      expect((await put({ url: await urlOf(ann, inParts, 1) }, new Uint8Array(3))).status).toBe(200)
      expect((await verb(ann, 'complete', inParts)).status).toBe(200)
    }
  })

  it('get 100 URLs in one request without a warning of Node.js', async () => {
    const { ann, begin } = await started()
    const begun = await begin(100 * 8 * MIB)
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const partNumbers = Array.from({ length: 100 }, (_, at) => at + 1)
    const { parts } = (await expectStatus(await verb(ann, 'parts', begun, { partNumbers }), 200)) as {
      parts: { url: string }[]
    }
    // Node.js emits warnings in a later turn of the event loop.
    await new Promise(setImmediate)
    process.off('warning', note)
    expect(new Set(parts.map(({ url }) => url)).size).toBe(100)
    expect(warnings).toEqual([])
  })

  it('become one object with the size of all parts, idempotently', async () => {
    const size = 8 * MIB + 5
    const { bucket, service, ann, begin } = await started({ maxBytes: size })
    const begun = await begin(size)
    const sizes = [begun.partSize, size - begun.partSize]
    for (const [at, bytes] of sizes.entries()) {
      const url = await urlOf(ann, begun, at + 1)
      expect((await put({ url }, new Uint8Array(bytes - 1))).status).toBe(403)
      expect((await verb(ann, 'complete', begun)).status).toBe(409)
      expect((await put({ url }, new Uint8Array(bytes).fill(at + 1))).status).toBe(200)
    }
    const listed = await expectStatus(await verb(ann, 'list', begun), 200)
    expect(listed).toMatchObject({ parts: sizes.map((bytes, at) => ({ partNumber: at + 1, size: bytes })) })
    const completed = await expectStatus(await verb(ann, 'complete', begun), 200)
    expect(completed).toMatchObject({ object: { id: begun.object.id, status: 'active', size } })
    expect(await expectStatus(await verb(ann, 'complete', begun), 200)).toEqual(completed)
    const stored = await ann.bytes(begun.object.key)
    expect([stored.length, stored[0], stored.at(-1)]).toEqual([size, 1, 2])
    await expectAccounted(service, { client, bucket, scopes: [ANN] })
    expect(service.reported).toEqual([])
  })

  it('become one object with concurrent completions', async () => {
    const { bucket, service, ann, begin } = await started()
    const begun = await begin(5)
    await put({ url: await urlOf(ann, begun, 1) })
    const responses = await Promise.all([1, 2, 3].map(() => verb(ann, 'complete', begun)))
    for (const response of responses) expect([200, 502]).toContain(response.status)
    expect((await verb(ann, 'complete', begun)).status).toBe(200)
    await expectAccounted(service, { client, bucket, scopes: [ANN] })
  })

  it('leave nothing behind if they are aborted or abandoned', async () => {
    const { bucket, service, ann, begin } = await started()
    const aborted = await begin(5)
    const late = await urlOf(ann, aborted, 1)
    await put({ url: late })
    expect((await verb(ann, 'abort', aborted)).status).toBe(204)
    expect((await put({ url: late })).status).toBe(404)
    const abandoned = await begin(5)
    await put({ url: await urlOf(ann, abandoned, 1) })

    service.clock.advance(24 * LATER)
    expect(outcomesOf((await cleanUp(service.s3)).reservations)).toEqual(['released'])
    for (let run = 0; run < 3; run++) {
      service.clock.advance(LATER)
      await cleanUp(service.s3)
    }
    expect(await uploadsIn(bucket)).toBe(0)
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes: [ANN] })
    expect(service.reported).toEqual([])
  })

  it('leave nothing behind if the response to their creation was lost', async () => {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(clientOf(server, { endpoint: proxy.endpoint }), bucket)
    const file = { ...FILE, filename: 'film.mp4', contentType: 'video/mp4', size: 5 }
    proxy.faults('cut after', 'none')
    expect((await service.as(ANN).send('POST', '/multipart', file)).status).toBe(502)
    expect(await uploadsIn(bucket)).toBe(2)
    for (let run = 0; run < 3; run++) {
      service.clock.advance(24 * LATER)
      await cleanUp(service.s3)
    }
    expect(await uploadsIn(bucket)).toBe(0)
    expect(await service.objects.listLeftovers()).toEqual([])
    await expectAccounted(service, { client, bucket, scopes: [ANN] })
  })
})
