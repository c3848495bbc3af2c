import { expect, it } from 'vitest'
import { expectStatus, type Begun, type Caller } from '../../unit/server/service.js'
import { put } from './browser-requests.js'
import { bucketOfTest, clientOf, describeS3 } from './s3-server.js'
import { FILE, serviceOn } from './service-on-s3.js'

const MIB = 1024 ** 2
const ANN = 'user:ann'

interface BegunInParts {
  readonly object: Begun['object']
  readonly uploadId: string
  readonly partSize: number
}

describeS3('multipart uploads with s3Storage', (server) => {
  const client = clientOf(server)

  async function started() {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket)
    const ann = service.as(ANN)
    const begin = async (size: number) => {
      const file = { ...FILE, filename: 'film.mp4', contentType: 'video/mp4', size }
      return (await expectStatus(await ann.send('POST', '/multipart', file), 201)) as BegunInParts
    }
    return { ann, begin }
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
    for (const contentType of ['a/b; x="a\tb  c"', 'a/b;x="\\""']) {
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
})
