import { eraseScope, type ObjectStorage } from '@svc/db'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { afterAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { describeSkipped } from '../../servers/describe-with-server.js'
import { findServer } from '../../servers/found-server.js'
import { SWIFT } from '../../servers/swift.js'
import { pattern, readAll } from '../../unit/server/files/bodies.js'
import { begun, MIB, PART, putPart, signed, uploaded } from '../../unit/server/multipart/in-parts.js'
import { bytesOfSize, cleanUpItems, expectStatus } from '../../unit/server/service.js'
import { findingsOf, only } from './findings.js'
import { clientOf, freshBucket, keysIn, serverAt } from './s3-server.js'
import { expectAccounted, FILE, LATER, REPORT, serviceOn } from './service-on-s3.js'

const swift = await findServer(SWIFT)
const ANN = 'user:ann'
const LARGE = 2 * PART + 5

if ('reason' in swift) describeSkipped('OpenStack Swift', swift.reason)
else {
  describe('OpenStack Swift', () => {
    afterAll(() => swift.stop())
    const server = serverAt(swift.url)
    const client = clientOf(server, {
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
    const bucket = freshBucket(client)

    function service(options: Omit<S3StorageOptions, 'client'> = { createOnly: false }) {
      const clock = new ManualClock()
      let storage: ObjectStorage | undefined
      return serviceOn(client, bucket, {
        clock,
        storage: () => (storage ??= s3Storage({ client, now: clock.now, ...options })),
      })
    }

    /** Signs in to Swift's own API. */
    async function swiftAPI() {
      const { accessKeyId, secretAccessKey } = server.owner
      const signIn = { 'x-auth-user': accessKeyId, 'x-auth-key': secretAccessKey }
      const { headers } = await fetch(`${server.endpoint}/auth/v1.0`, { headers: signIn })
      return { url: headers.get('x-storage-url')!, token: headers.get('x-auth-token')! }
    }

    /** Counts the parts of large objects, which Swift keeps in another container that S3 doesn't show. */
    async function countSegments(): Promise<number> {
      const { url, token } = await swiftAPI()
      const segments = `${url}/${bucket}+segments?format=json`
      const response = await fetch(segments, { headers: { 'x-auth-token': token } })
      return response.status === 404 ? 0 : ((await response.json()) as unknown[]).length
    }

    it('refuses uploads, and onError names the option, until createOnly is false', async () => {
      const { s3, objects, as, reportedBy } = service({})
      await expect(s3.files.put({ ...FILE, scope: ANN, body: 'a', key: 'a' })).rejects.toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
      })
      const [error] = await reportedBy('files.put')
      expect(String((error as Error).cause)).toMatch(/HTTP 501 .* set createOnly of s3Storage to false/)
      // The reservation was released.
      expect(await objects.getScopeUsage(ANN)).toMatchObject({ reservedFiles: 0 })

      const { object, upload } = await as(ANN).begun(FILE)
      const { status } = await as(ANN).put(upload, bytesOfSize(3))
      expect(status).toBe(501)
      const { key, id } = object
      await as(ANN).send('POST', '/upload/abort', { key, id, failure: { status, message: 'refused' } })
      const [refused] = await reportedBy('upload.put')
      expect(String(refused)).toContain('set createOnly of s3Storage to false')
    })

    it('takes uploads, parts and files of the server', async () => {
      const own = service()
      const { s3, as } = own
      const { headers } = (await as(ANN).begun(FILE)).upload
      expect(headers).not.toHaveProperty('if-none-match')
      const small = await as(ANN).upload(FILE)
      expect(await as(ANN).bytes(small.key)).toEqual(bytesOfSize(3))
      const large = await uploaded(as(ANN), { ...FILE, size: LARGE })
      const range = { start: PART - 1, end: PART }
      expect(await readAll((await s3.files.get({ key: large.key, range })).body)).toEqual(
        new Uint8Array([1, 2]),
      )
      const body = pattern(LARGE)
      const { key } = await s3.files.put({ ...FILE, scope: ANN, body, key: 'put' })
      // A comparison by `toEqual` would take minutes.
      expect(Buffer.compare(await readAll((await s3.files.get({ key })).body), body)).toBe(0)
      own.clock.advance(LATER)
      await cleanUpItems(s3)
      await expectAccounted(own, { client, bucket, scopes: [ANN] })
      await eraseScope(s3, { scope: ANN })
    })

    it.each([{ createOnly: false }, { createOnly: true }])(
      'keeps no parts of what was deleted, replaced or erased, with %j',
      async (options) => {
        const { s3, clock, as } = service(options)
        const before = await countSegments()
        const { key } = await uploaded(as(ANN), { ...FILE, size: LARGE })
        expect(await countSegments()).toBe(before + 3)
        await expectStatus(await as(ANN).delete(key), 204)
        expect(await countSegments()).toBe(before)

        await uploaded(as(ANN), { ...REPORT, size: LARGE })
        await uploaded(as(ANN), { ...REPORT, size: PART + 5 })
        // While download URLs may still read the first version, but its upload URLs have not expired in any case.
        clock.advance(LATER)
        await cleanUpItems(s3)
        expect(await countSegments()).toBe(before + 2)

        await uploaded(as(ANN), { ...FILE, size: LARGE })
        expect(await eraseScope(s3, { scope: ANN })).toMatchObject({ failed: [], objects: 2 })
        expect(await countSegments()).toBe(before)
      },
    )

    it('is not harmed by 200 readers that leave, nor ends one that pauses for less than idleSeconds', async () => {
      const own = service()
      const body = pattern(4 * MIB)
      const { key, storageKey } = await own.s3.files.put({ ...FILE, scope: ANN, filename: 'a', body })
      const leave = async () => {
        const reader = (await own.s3.files.get({ key })).body.getReader()
        await reader.read()
        await reader.cancel()
      }
      for (let left = 0; left < 200; left += 20) await Promise.all(Array.from({ length: 20 }, leave))

      const at = { bucket, key: storageKey! }
      const paused = async (idleSeconds: number) => {
        const reader = (await s3Storage({ client, idleSeconds }).read!(at))!.getReader()
        return { reader, first: (await reader.read()).value! }
      }
      const [short, long] = [await paused(0.2), await paused(60)]
      await expect(short.reader.closed).rejects.toThrow('nothing read the body for 0.2 s')
      const chunks = [long.first]
      for (let next = await long.reader.read(); !next.done; next = await long.reader.read())
        chunks.push(next.value)
      expect(Buffer.compare(Buffer.concat(chunks), body)).toBe(0)
      await eraseScope(own.s3, { scope: ANN })
    })

    it('has nothing for verify to find with the settings of docs/s3.md, which it names otherwise', async () => {
      expect(await findingsOf(client, bucket, { createOnly: false, maxParts: 1000 })).toEqual([])
      expect(await findingsOf(client, bucket)).toEqual([
        ...only('conditional-writes', /set createOnly of s3Storage to false \(HTTP 501/),
        ...only('bucket', /refuses part 10000 .*set maxParts/),
      ])
      expect(
        await findingsOf(client, bucket, {
          createOnly: false,
          maxParts: 1000,
          origin: 'https://app.example',
        }),
      ).toEqual(only('cors', /no Access-Control-Allow-Origin for/))
      expect(await keysIn(client, bucket)).toEqual([])
      expect(await countSegments()).toBe(0)
    })

    it('takes requests of pages with two settings of its operator, one of the gateway and one of the container', async () => {
      const { url, headers } = (await service().as(ANN).begun(FILE)).upload
      const origin = 'https://app.example'
      const preflight = async () => {
        const asked = { 'access-control-request-method': 'PUT' }
        const names = Object.keys(headers).join(', ')
        const init = {
          method: 'OPTIONS',
          headers: { ...asked, origin, 'access-control-request-headers': names },
        }
        return (await fetch(url, init)).status
      }
      const sent = async () => {
        const body = bytesOfSize(3)
        const response = await fetch(url, { method: 'PUT', headers: { ...headers, origin }, body })
        return [response.status, response.headers.get('access-control-allow-origin')]
      }
      // The gateway of the tests has the first setting.
      expect([await preflight(), await sent()]).toEqual([200, [200, null]])
      const { url: storageURL, token } = await swiftAPI()
      const settings = { 'x-container-meta-access-control-allow-origin': origin }
      const container = { method: 'POST', headers: { ...settings, 'x-auth-token': token } }
      expect((await fetch(`${storageURL}/${bucket}`, container)).ok).toBe(true)
      expect([await preflight(), await sent()]).toEqual([200, [200, origin]])
      expect(await findingsOf(client, bucket, { createOnly: false, maxParts: 1000, origin })).toEqual([])
    })

    it('takes the last part of a large file with maxParts, and without it refuses more than 1000', async () => {
      const size = 999 * 9 * MIB + 5
      const lastPart = async (options: Partial<S3StorageOptions>) => {
        const ann = service(options).as(ANN)
        const parts = await begun(ann, { ...FILE, size })
        const number = Math.ceil(size / parts.partSize)
        const [last] = await signed(ann, parts, [number])
        const { status } = await putPart(ann, last!.url, bytesOfSize(size - (number - 1) * parts.partSize))
        await ann.send('POST', '/multipart/abort', { ...parts.object, uploadId: parts.uploadId })
        return { number, status }
      }
      expect(await lastPart({ maxParts: 1000 })).toEqual({ number: 1000, status: 200 })
      expect(await lastPart({})).toEqual({ number: 1124, status: 400 })
    })
  })
}
