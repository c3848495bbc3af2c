import type { SignPartInput } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../conformance/clock.js'
import { bytesOfSize, errorOf, startService } from '../service.js'
import {
  abort,
  begun,
  list,
  listed,
  PART,
  putPart,
  sendParts,
  sign,
  signed,
  withMultipart,
} from './in-parts.js'

describe('POST /multipart/parts', () => {
  it('returns a URL for each part, which accepts only its exact size', async () => {
    const { as, clock } = startService()
    const caller = as('user:1')
    const parts = await begun(caller, { size: PART + 3 })
    const urls = await signed(caller, parts, [2, 1])
    expect(urls.map(({ partNumber, expiresAt }) => [partNumber, expiresAt])).toEqual([
      [2, clock.in(15 * MINUTE).toISOString()],
      [1, clock.in(15 * MINUTE).toISOString()],
    ])
    const [last, first] = urls
    expect((await putPart(caller, last!.url, bytesOfSize(2))).status).toBe(400)
    expect((await putPart(caller, last!.url, bytesOfSize(4))).status).toBe(400)
    expect((await putPart(caller, first!.url, bytesOfSize(PART + 3))).status).toBe(400)
    expect((await listed(caller, parts)).parts).toEqual([])
    expect((await putPart(caller, last!.url, bytesOfSize(3))).status).toBe(200)
    expect((await putPart(caller, first!.url, bytesOfSize(PART))).status).toBe(200)
    expect(await listed(caller, parts)).toEqual({
      partSize: PART,
      parts: [
        { partNumber: 1, size: PART },
        { partNumber: 2, size: 3 },
      ],
    })
  })

  it('passes the end of the reservation to the storage', async () => {
    const inputs: SignPartInput[] = []
    const storage = withMultipart((memory) => ({
      signPart(input) {
        inputs.push(input)
        return memory.signPart(input)
      },
    }))
    const { as, objects } = startService({ storage })
    const parts = await begun(as('user:1'))
    await signed(as('user:1'), parts)
    const row = await objects.findPending(parts.object)
    expect(inputs).toMatchObject([{ writableUntil: row!.expiresAt }])
  })

  it('returns up to 100 URLs, one for each requested number', async () => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: 200 * PART })
    const numbers = Array.from({ length: 100 }, (_, index) => 200 - index)
    const urls = await signed(caller, parts, numbers)
    expect(urls.map(({ partNumber }) => partNumber)).toEqual(numbers)
    expect(new Set(urls.map(({ url }) => url)).size).toBe(100)
  })

  it.each([
    [undefined],
    [null],
    [1],
    ['1'],
    [[]],
    [[0]],
    [[10_001]],
    [[1.5]],
    [['1']],
    [[1, null]],
    [{ length: 1, 0: 1 }],
    [Array<number>(101).fill(1)],
  ])('refuses invalid part numbers: %j', async (partNumbers) => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: 200 * PART })
    const body = { key: parts.object.key, id: parts.object.id, uploadId: parts.uploadId, partNumbers }
    const response = await caller.send('POST', '/multipart/parts', body)
    expect(await errorOf(response)).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      params: { field: 'partNumbers' },
    })
  })

  it('sets the lifetime of URLs to expiresIn', async () => {
    const { as, clock } = startService({ multipart: { expiresIn: 60 }, upload: { expiresIn: 1 } })
    const caller = as('user:1')
    const parts = await begun(caller)
    const [{ url, expiresAt } = { url: '', expiresAt: '' }] = await signed(caller, parts)
    expect(expiresAt).toBe(clock.in(MINUTE).toISOString())
    clock.advance(MINUTE)
    expect((await errorOf(await putPart(caller, url, bytesOfSize(3)))).code).toBe('FORBIDDEN')
    await sendParts(caller, parts)
  })

  it('signs no URL that outlives the reservation, and none after it has expired', async () => {
    const { as, clock } = startService({ pendingTtlSeconds: 1000 })
    const caller = as('user:1')
    const parts = await begun(caller)
    const lapses = clock.in(1000 * SECOND).toISOString()
    clock.advance(999 * SECOND)
    expect((await signed(caller, parts))[0]!.expiresAt).toBe(lapses)
    clock.advance(SECOND)
    expect(await errorOf(await sign(caller, parts))).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
    expect((await list(caller, parts)).status).toBe(200)
  })

  it('returns STORAGE_UNAVAILABLE if the storage fails, and leaves the upload unchanged', async () => {
    let failing = true
    const storage = withMultipart((memory) => ({
      signPart: (input) => (failing ? Promise.reject(new Error('clock skew')) : memory.signPart(input)),
    }))
    const service = startService({ storage })
    const caller = service.as('user:1')
    const parts = await begun(caller)
    expect((await errorOf(await sign(caller, parts))).code).toBe('STORAGE_UNAVAILABLE')
    failing = false
    await sendParts(caller, parts)
    expect(await service.reportedBy('multipart.parts')).toMatchObject([{ cause: { message: 'clock skew' } }])
  })
})

describe('POST /multipart/list', () => {
  it('starts after a part number', async () => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: 2 * PART + 1 })
    await sendParts(caller, parts, { only: [1, 3] })
    const numbers = async (after?: number) =>
      (await listed(caller, parts, after)).parts.map(({ partNumber }) => partNumber)
    expect(await numbers()).toEqual([1, 3])
    expect(await numbers(0)).toEqual([1, 3])
    expect(await numbers(1)).toEqual([3])
    expect(await numbers(3)).toEqual([])
  })

  it('returns the start of the next page, if there is one', async () => {
    const seen: number[] = []
    const storage = withMultipart((memory) => ({
      listParts: async (input) => {
        seen.push(input.after)
        const page = await memory.listParts(input)
        const [first] = page!.parts
        return { parts: first ? [first] : [], next: page!.parts.length > 1 ? first!.partNumber : null }
      },
    }))
    const caller = startService({ storage }).as('user:1')
    const parts = await begun(caller, { size: PART + 1 })
    await sendParts(caller, parts)
    expect(await listed(caller, parts)).toMatchObject({ parts: [{ partNumber: 1 }], next: 1 })
    expect(await listed(caller, parts, 1)).toEqual({ partSize: PART, parts: [{ partNumber: 2, size: 1 }] })
    expect(seen).toEqual([0, 1])
  })

  it.each([-1, 1.5, '1', 10_001, [1]])('refuses an invalid part number: %j', async (after) => {
    const caller = startService().as('user:1')
    const response = await errorOf(await list(caller, await begun(caller), after))
    expect(response).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'after' } })
  })

  it('returns OBJECT_NOT_FOUND if the bucket has dropped the upload', async () => {
    const { as, storage } = startService()
    const parts = await begun(as('user:1'))
    await storage.multipart!.abort({ bucket: 'files', key: parts.object.key, uploadId: parts.uploadId })
    expect((await errorOf(await list(as('user:1'), parts))).code).toBe('OBJECT_NOT_FOUND')
  })
})

describe('POST /multipart/abort', () => {
  it('ends the attempt and removes its parts', async () => {
    const { as, objects, storage } = startService()
    const caller = as('user:1')
    const parts = await begun(caller, { size: PART + 1 })
    await sendParts(caller, parts, { only: [2] })
    const [{ url } = { url: '' }] = await signed(caller, parts)
    const response = await abort(caller, parts)
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(await storage.multipart!.list({ bucket: 'files', key: parts.object.key })).toEqual([])
    expect((await errorOf(await putPart(caller, url, bytesOfSize(PART)))).code).toBe('OBJECT_NOT_FOUND')
    expect((await errorOf(await abort(caller, parts))).code).toBe('OBJECT_NOT_FOUND')
    expect(await objects.listLeftovers()).toMatchObject([{ uploadId: parts.uploadId }])
  })

  it('succeeds if the bucket fails, reports the error, and leaves the parts to cleanUp', async () => {
    const storage = withMultipart(() => ({ abort: () => Promise.reject(new Error('timeout')) }))
    const service = startService({ storage })
    const caller = service.as('user:1')
    expect((await abort(caller, await begun(caller))).status).toBe(204)
    expect(await service.reportedBy('multipart.abort')).toMatchObject([{ cause: { message: 'timeout' } }])
    expect(await service.objects.listLeftovers()).toHaveLength(1)
  })

  it('ends an expired upload', async () => {
    const { as, clock, objects } = startService()
    const parts = await begun(as('user:1'))
    clock.advance(25 * HOUR)
    expect((await abort(as('user:1'), parts)).status).toBe(204)
    expect(await objects.countByScope('user:1')).toBe(0)
  })
})
