import { describe, expect, it } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../../conformance/clock.js'
import { bucketService, codeOf, HELLO, SERVER_URL } from './bucket-service.js'
import { gatedBody } from './gated-body.js'
import { storages, type StorageKind } from './storages.js'

const CONFLICT = [409, 'KEY_CONFLICT', undefined]
const TOO_LATE = [403, 'FORBIDDEN', undefined]

/** Creates a URL for an object or a part of 5 bytes, and functions that write to it. */
async function writableURL(kind: StorageKind, target: 'object' | 'part', writableUntil?: Date) {
  const service = bucketService(kind)
  const { storage, handler, upload } = service
  const multipart = storage.multipart!
  const { bucket, key, contentType, attemptId } = upload
  const { uploadId } = await multipart.create({ bucket, key, contentType, attemptId })
  const expiresAt = service.clock.in(HOUR)
  const part = { bucket, key, uploadId, partNumber: 1, size: 5, expiresAt, serverURL: SERVER_URL }
  const signed =
    target === 'object'
      ? await storage.signUpload({ ...upload, expiresAt, writableUntil })
      : { method: 'PUT', ...(await multipart.signPart({ ...part, writableUntil })) }
  const { url, ...init } = signed
  return {
    ...service,
    put: (body: BodyInit) =>
      handler(new Request(url, { ...init, body, ...(body instanceof ReadableStream && { duplex: 'half' }) })),
    /** Returns the size of what is stored; `null` if nothing is. */
    storedSize: async (): Promise<number | null> => {
      if (target === 'object') return (await storage.head(upload))?.size ?? null
      const page = await multipart.listParts({ bucket, key, uploadId, after: 0 })
      return page?.parts[0]?.size ?? null
    },
  }
}

describe.each(storages)('the upload URLs of $name', (kind) => {
  describe.each(['object', 'part'] as const)('for an %s', (target) => {
    it('admit one writer at a time', async () => {
      const { put, storedSize } = await writableURL(kind, target)
      const body = gatedBody()
      const first = put(body.stream)
      await body.send(HELLO.subarray(0, 3))
      await body.isWaitedFor()
      const others = Array.from({ length: 20 }, () => gatedBody())
      for (const other of others) expect(await codeOf(await put(other.stream))).toEqual(CONFLICT)
      expect(await storedSize()).toBeNull()
      await body.send(HELLO.subarray(3))
      body.close()
      expect((await first).status).toBe(200)
      expect(await storedSize()).toBe(5)
    })

    it('admit one of many writers that start at once', async () => {
      const { put } = await writableURL(kind, target)
      const bodies = Array.from({ length: 20 }, () => gatedBody())
      const responses = bodies.map((body) => put(body.stream))
      const admitted = await Promise.race(bodies.map((body, index) => body.isWaitedFor().then(() => index)))
      const refused = await Promise.all(responses.filter((_, index) => index !== admitted))
      for (const response of refused) expect(await codeOf(response)).toEqual(CONFLICT)
      expect(bodies.filter((body) => body.isRead())).toHaveLength(1)
      await bodies[admitted]!.send(HELLO)
      bodies[admitted]!.close()
      expect((await responses[admitted]!).status).toBe(200)
    })

    it('can be used again after a writer that breaks off', async () => {
      const { put, storedSize } = await writableURL(kind, target)
      const body = gatedBody()
      const first = put(body.stream)
      await body.send(HELLO.subarray(0, 3))
      body.breakOff()
      expect(await codeOf(await first)).toEqual([400, 'VALIDATION_ERROR', 'body'])
      expect((await put(HELLO)).status).toBe(200)
      expect(await storedSize()).toBe(5)
    })

    it('pass to the next writer if the first one sends nothing for 5 seconds', async () => {
      const { put, clock, storedSize } = await writableURL(kind, target)
      const body = gatedBody()
      const first = put(body.stream)
      await body.send(HELLO.subarray(0, 3))
      await body.isWaitedFor()
      clock.advance(4999)
      expect(await codeOf(await put(HELLO))).toEqual(CONFLICT)
      clock.advance(1)
      expect((await put(HELLO)).status).toBe(200)
      expect(await codeOf(await first)).toEqual(CONFLICT)
      expect(body.isCancelled()).toBe(true)
      expect(await storedSize()).toBe(5)
    })

    it('stay with a writer that keeps sending', async () => {
      const { put, clock, storedSize } = await writableURL(kind, target)
      const body = gatedBody()
      const first = put(body.stream)
      for (const byte of HELLO) {
        await body.send(new Uint8Array([byte]))
        await body.isWaitedFor()
        clock.advance(4000)
        expect(await codeOf(await put(HELLO))).toEqual(CONFLICT)
      }
      body.close()
      expect((await first).status).toBe(200)
      expect(await storedSize()).toBe(5)
    })

    it('refuse bytes that are complete an hour after the reservation', async () => {
      const writableUntil = new Date(ManualClock.START + MINUTE)
      for (const [late, status] of [
        [-1, 200],
        [0, 403],
      ] as const) {
        const { put, clock, storedSize } = await writableURL(kind, target, writableUntil)
        const body = gatedBody()
        const response = put(body.stream)
        await body.send(HELLO)
        await body.isWaitedFor()
        clock.moveTo(new Date(writableUntil.getTime() + HOUR + late))
        body.close()
        expect((await response).status).toBe(status)
        expect(await storedSize()).toBe(status === 200 ? 5 : null)
      }
    })

    it('stop reading when it is too late', async () => {
      const writableUntil = new Date(ManualClock.START + MINUTE)
      const { put, clock, storedSize } = await writableURL(kind, target, writableUntil)
      const body = gatedBody()
      const response = put(body.stream)
      await body.send(HELLO.subarray(0, 3))
      await body.isWaitedFor()
      clock.moveTo(new Date(writableUntil.getTime() + HOUR))
      await body.send(HELLO.subarray(3, 4))
      expect(await codeOf(await response)).toEqual(TOO_LATE)
      await expect.poll(body.isCancelled).toBe(true)
      expect(await storedSize()).toBeNull()
    })

    it('have no such end if they were signed without one', async () => {
      const { put, clock, storedSize } = await writableURL(kind, target)
      const body = gatedBody()
      const response = put(body.stream)
      await body.send(HELLO)
      clock.advance(1000 * HOUR)
      body.close()
      expect((await response).status).toBe(200)
      expect(await storedSize()).toBe(5)
    })
  })
})
