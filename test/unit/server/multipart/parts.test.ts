import type { StoredPart } from '@svc/db/adapter'
import { describe, expect, it, vi } from 'vitest'
import { MINUTE, SECOND } from '../../../conformance/clock.js'
import { BUCKET, bytesOfSize, errorOf, expectStatus, startService } from '../service.js'
import * as inParts from './in-parts.js'
import { abort, begun, complete, list, listed, PART, putPart, sendParts, sign, signed } from './in-parts.js'

const MISMATCH = { status: 409, code: 'UPLOAD_MISMATCH' }

describe('POST /multipart/parts', () => {
  it('signs up to 100 parts, whose URLs know the end of the reservation', async () => {
    const ends: unknown[] = []
    const storage = inParts.withMultipart((memory) => ({
      signPart: (input) => (ends.push(input.writableUntil), memory.signPart(input)),
    }))
    const { as, objects } = startService({ storage })
    const parts = await begun(as('user:1'), { size: 200 * PART })
    const numbers = Array.from({ length: 100 }, (_, index) => 200 - index)
    const urls = await signed(as('user:1'), parts, numbers)
    expect(urls.map(({ partNumber }) => partNumber)).toEqual(numbers)
    expect(new Set(urls.map(({ url }) => url)).size).toBe(100)
    const { expiresAt } = (await objects.findPending(parts.object))!
    expect(ends).toEqual(numbers.map(() => expiresAt))
  })

  it('refuses invalid part numbers', async () => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: 200 * PART })
    const many = Array<number>(101).fill(1)
    const refused = [null, 1, '1', [], [0], [10_001], [1.5], ['1'], [1, null], { length: 1, 0: 1 }, many]
    for (const partNumbers of refused) {
      const error = { status: 400, code: 'VALIDATION_ERROR', params: { field: 'partNumbers' } }
      expect(await errorOf(await sign(caller, parts, partNumbers))).toMatchObject(error)
    }
  })

  it('signs URLs for expiresIn, none that outlives the reservation, and none after it has expired', async () => {
    const { as, clock } = startService({ multipart: { expiresIn: 60 }, pendingTtlSeconds: 100 })
    const caller = as('user:1')
    const parts = await begun(caller)
    const end = clock.in(100 * SECOND).toISOString()
    const [first] = await signed(caller, parts)
    expect(first!.expiresAt).toBe(clock.in(MINUTE).toISOString())
    clock.advance(MINUTE)
    expect((await putPart(caller, first!.url, bytesOfSize(3))).status).toBe(403)
    expect((await signed(caller, parts))[0]!.expiresAt).toBe(end)
    clock.advance(40 * SECOND)
    expect(await errorOf(await sign(caller, parts))).toEqual({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
      message: 'The upload has expired. Start a new one.',
    })
    expect((await list(caller, parts)).status).toBe(200)
  })

  it('leaves the upload unchanged if the storage fails', async () => {
    let failing = true
    const cause = new Error('clock skew')
    const storage = inParts.withMultipart((memory) => ({
      signPart: (input) => (failing ? Promise.reject(cause) : memory.signPart(input)),
    }))
    const service = startService({ storage })
    const parts = await begun(service.as('user:1'))
    const code = 'STORAGE_UNAVAILABLE'
    expect(await errorOf(await sign(service.as('user:1'), parts))).toMatchObject({ code })
    failing = false
    await sendParts(service.as('user:1'), parts)
    expect(await service.reportedBy('multipart.parts')).toMatchObject([{ cause }])
  })
})

/** Lists one part a page. */
const onePartPages = inParts.withMultipart((memory) => ({
  listParts: async (input) => {
    const page = await memory.listParts(input)
    const [first, ...more] = page?.parts ?? []
    return page && { parts: first ? [first] : [], next: more.length > 0 ? first!.partNumber : null }
  },
}))

describe('POST /multipart/list', () => {
  it('returns the parts after a number, and where the next page starts', async () => {
    const caller = startService({ storage: onePartPages }).as('user:1')
    const parts = await begun(caller, { size: 2 * PART + 1 })
    await sendParts(caller, parts, { only: [1, 3] })
    const first = { partSize: PART, parts: [{ partNumber: 1, size: PART }], next: 1 }
    for (const after of [undefined, 0]) expect(await listed(caller, parts, after)).toEqual(first)
    expect(await listed(caller, parts, 1)).toEqual({ partSize: PART, parts: [{ partNumber: 3, size: 1 }] })
    expect(await listed(caller, parts, 3)).toEqual({ partSize: PART, parts: [] })
    for (const after of [-1, 1.5, '1', 10_001, [1]]) {
      const params = { field: 'after' }
      expect(await errorOf(await list(caller, parts, after))).toMatchObject({ status: 400, params })
    }
  })
})

describe('POST /multipart/complete', () => {
  it('assembles the parts in order, whatever the order of their uploads and pages', async () => {
    const { as, objects } = startService({ storage: onePartPages })
    const caller = as('user:1')
    const parts = await begun(caller, { size: PART + 2 })
    for (const number of [2, 1]) await sendParts(caller, parts, { only: [number] })
    const { object } = (await expectStatus(await complete(caller, parts), 200)) as { object: object }
    expect(object).toEqual({ ...parts.object, declaredSize: undefined, status: 'active', size: PART + 2 })
    const expected = Buffer.concat([bytesOfSize(PART, 1), bytesOfSize(2, 2)])
    expect(Buffer.compare(await caller.bytes(parts.object.key), expected)).toBe(0)
    expect(await objects.findActive(parts.object)).toMatchObject({ uploadId: null })
    expect(await errorOf(await list(caller, parts))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  })

  const stored = (partNumber: number, size: number): StoredPart => ({ partNumber, size, eTag: 'x' })
  it.each([
    ['no part', [], 0],
    ['missing parts', [stored(2, PART), stored(3, 1)], 2],
    ['a part of another size', [stored(1, PART), stored(2, PART), stored(3, 2)], 2],
    ['an extra part', [stored(1, PART), stored(2, PART), stored(3, 1), stored(4, 0)], 3],
  ])('refuses an upload with %s, and leaves it open', async (_, found, matching) => {
    const completed = vi.fn()
    const listParts = () => Promise.resolve({ parts: found, next: null })
    const storage = inParts.withMultipart(() => ({ listParts, complete: completed }))
    const { as, objects } = startService({ storage })
    const parts = await begun(as('user:1'), { size: 2 * PART + 1 })
    const message = expect.stringContaining(`${matching} of the 3 parts`) as string
    expect(await errorOf(await complete(as('user:1'), parts))).toMatchObject({ ...MISMATCH, message })
    expect(completed).not.toHaveBeenCalled()
    expect(await objects.findPending(parts.object)).toMatchObject({ id: parts.object.id })
  })

  it.each([
    ['/multipart/list', list],
    ['/multipart/complete', complete],
  ])('ends an upload that the bucket has dropped, as %s does', async (_, request) => {
    const { as, objects, storage } = startService()
    const caller = as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    await storage.multipart!.abort({ bucket: BUCKET, key: parts.object.key, uploadId: parts.uploadId })
    expect(await errorOf(await request(caller, parts))).toMatchObject({
      ...{ status: 404, code: 'OBJECT_NOT_FOUND', params: { ended: true } },
      message: 'The bucket no longer has this upload, so it has ended. Start a new one.',
    })
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ reservedFiles: 0 })
    // A second call doesn't know the attempt.
    expect(await errorOf(await request(caller, parts))).not.toHaveProperty('params')
  })

  it('does not end an upload that the bucket has completed without a confirmation', async () => {
    const { as, storage } = startService()
    const caller = as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    const at = { bucket: BUCKET, key: parts.object.key, uploadId: parts.uploadId }
    const page = await storage.multipart!.listParts({ ...at, after: 0 })
    await storage.multipart!.complete({ ...at, parts: page!.parts })
    expect(await errorOf(await list(caller, parts))).not.toHaveProperty('params')
    await expectStatus(await complete(caller, parts), 200)
  })
})

describe('POST /multipart/abort', () => {
  it('succeeds if the bucket fails, reports the error, and leaves the parts to cleanUp', async () => {
    const cause = new Error('timeout')
    const service = startService({
      storage: inParts.withMultipart(() => ({ abort: () => Promise.reject(cause) })),
    })
    const caller = service.as('user:1')
    expect((await abort(caller, await begun(caller))).status).toBe(204)
    expect(await service.reportedBy('multipart.abort')).toMatchObject([{ cause }])
    expect(await service.objects.listLeftovers()).toHaveLength(1)
  })
})

it.each(Object.entries({ parts: sign, list, complete, abort }))(
  'POST /multipart/%s names its upload by all ids, and does not exist without multipart uploads',
  async (name, verb) => {
    const { as, objects } = startService()
    const caller = as('user:1')
    const [parts, other] = [await begun(caller), await begun(caller)]
    const single = { object: (await caller.begun()).object, uploadId: 'u1', partSize: 1 }
    const wrong = [
      { ...parts, uploadId: other.uploadId },
      { ...parts, object: { ...parts.object, id: other.object.id } },
      { ...parts, object: { ...parts.object, bucket: 'other' } },
      single,
    ]
    for (const reference of wrong) {
      expect((await errorOf(await verb(caller, reference))).code).toBe('OBJECT_NOT_FOUND')
    }
    for (const { object } of [parts, single]) expect((await objects.findPending(object))!.id).toBe(object.id)
    for (const options of [{ multipart: false }, { storage: inParts.withoutMultipart }] as const) {
      const without = startService(options).as('user:1')
      for (const path of ['/multipart', `/multipart/${name}`]) {
        expect(await errorOf(await without.send('POST', path, {}))).toMatchObject({ code: 'NOT_FOUND' })
      }
    }
  },
)
