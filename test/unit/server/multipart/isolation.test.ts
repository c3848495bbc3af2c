import { createAttemptId } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { errorOf, startService, type Caller } from '../service.js'
import {
  abort,
  begun,
  complete,
  list,
  referenceOf,
  sendParts,
  sign,
  withoutMultipart,
  type Parts,
} from './in-parts.js'

const verbs = { parts: sign, list, complete, abort } as const
type Verb = (caller: Caller, parts: Parts) => Promise<Response>
const each = Object.entries(verbs) as [string, Verb][]

/** Everything in a response that a client can see. */
async function whole(response: Response) {
  return { status: response.status, headers: [...response.headers], body: await response.text() }
}

describe.each(each)('POST /multipart/%s', (name, verb) => {
  const path = `/multipart/${name}`

  it('responds to an upload of another scope as to a missing one', async () => {
    const { as, objects } = startService()
    const parts = await begun(as('user:1'))
    await sendParts(as('user:1'), parts)
    const others = await whole(await verb(as('user:2'), parts))
    const none = await whole(
      await verb(as('user:2'), {
        ...parts,
        object: { ...parts.object, key: 'nothing', id: createAttemptId() },
      }),
    )
    expect(others).toEqual(none)
    expect(others).toMatchObject({ status: 404, body: expect.stringContaining('OBJECT_NOT_FOUND') as string })
    expect(await objects.findPending(parts.object)).toMatchObject({ id: parts.object.id })
  })

  it('requires authentication', async () => {
    const { as } = startService()
    const parts = await begun(as('user:1'))
    expect((await errorOf(await verb(as(null), parts))).code).toBe('UNAUTHORIZED')
  })

  it('requires the ids of the upload', async () => {
    const { as } = startService()
    const caller = as('user:1')
    const parts = await begun(caller)
    const other = await begun(caller)
    const wrong: Parts[] = [
      { ...parts, uploadId: other.uploadId },
      { ...parts, uploadId: 'made up' },
      { ...parts, object: { ...parts.object, id: other.object.id } },
      { ...parts, object: { ...parts.object, bucket: 'other' } },
    ]
    for (const reference of wrong) {
      expect((await errorOf(await verb(caller, reference))).code).toBe('OBJECT_NOT_FOUND')
    }
    expect((await sign(caller, parts)).status).toBe(200)
  })

  it('does not accept single-PUT uploads', async () => {
    const { as, objects } = startService()
    const caller = as('user:1')
    const { object } = await caller.begun()
    expect((await errorOf(await verb(caller, { object, uploadId: 'u1', partSize: 1 }))).code).toBe(
      'OBJECT_NOT_FOUND',
    )
    expect(await objects.findPending(object)).toMatchObject({ id: object.id })
  })

  it.each([
    ['key', undefined],
    ['key', 'x'.repeat(1025)],
    ['id', undefined],
    ['id', 'no id'],
    ['uploadId', undefined],
    ['uploadId', ''],
    ['uploadId', 7],
    ['uploadId', 'x'.repeat(1025)],
    ['bucket', ''],
  ])('refuses an invalid %s: %j', async (field, value) => {
    const { as } = startService()
    const parts = await begun(as('user:1'))
    const body = { ...referenceOf(parts), partNumbers: [1], [field]: value }
    expect(await errorOf(await as('user:1').send('POST', path, body))).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      params: { field },
    })
  })

  it('defaults to the bucket of the server', async () => {
    const { as } = startService()
    const parts = await begun(as('user:1'))
    await sendParts(as('user:1'), parts)
    const body = { ...referenceOf(parts), bucket: undefined, partNumbers: [1] }
    expect((await as('user:1').send('POST', path, body)).status).toBeLessThan(300)
  })

  it('is an unknown path if multipart uploads are disabled or not supported', async () => {
    for (const service of [startService({ multipart: false }), startService({ storage: withoutMultipart })]) {
      expect(await errorOf(await service.as('user:1').send('POST', path, {}))).toMatchObject({
        status: 404,
        code: 'NOT_FOUND',
      })
      expect((await errorOf(await service.as('user:1').send('POST', '/multipart', {}))).code).toBe(
        'NOT_FOUND',
      )
    }
  })
})

describe('the endpoints of single-PUT uploads', () => {
  it('do not accept multipart uploads', async () => {
    const { as, objects } = startService()
    const caller = as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    for (const verb of ['confirm', 'abort'] as const) {
      expect(await errorOf(await caller[verb](parts.object))).toMatchObject({
        status: 404,
        code: 'OBJECT_NOT_FOUND',
      })
    }
    expect(await objects.findPending(parts.object)).toMatchObject({ uploadId: parts.uploadId })
  })

  it('sign URLs that cannot write parts, and vice versa', async () => {
    const { as, storage } = startService()
    const caller = as('user:1')
    const parts = await begun(caller)
    const { upload } = await caller.begun()
    await sendParts(caller, parts)
    expect((await complete(caller, parts)).status).toBe(200)
    expect(await storage.head({ bucket: 'files', key: parts.object.key })).toMatchObject({
      attemptId: parts.object.id,
    })
    expect((await caller.put(upload, new Uint8Array(3))).status).toBe(200)
  })
})
