import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { errorOf, startService, type Caller } from './service.js'

const failure = { status: 403, message: 'AccessDenied' }

/** The requests in which a client says that the storage has refused its bytes, each for a new attempt. */
const requests: Record<string, (caller: Caller) => Promise<(failure: unknown) => Promise<Response>>> = {
  async 'POST /upload/abort'(caller) {
    const { object } = await caller.begun()
    return (failure) => caller.send('POST', '/upload/abort', { ...object, failure })
  },
  async 'POST /multipart/abort'(caller) {
    const parts = await inParts.begun(caller)
    return (failure) => caller.send('POST', '/multipart/abort', { ...inParts.referenceOf(parts), failure })
  },
  async 'POST /multipart/list'(caller) {
    const parts = await inParts.begun(caller)
    return (failure) => caller.send('POST', '/multipart/list', { ...inParts.referenceOf(parts), failure })
  },
}

const list = requests['POST /multipart/list']!

describe.each(Object.entries(requests))('failure in %s', (name, begin) => {
  it('is reported to onError, and changes nothing else', async () => {
    const { as, reported } = startService()
    const send = await begin(as('user:1'))
    const response = await send(failure)
    expect([response.status, await response.text()]).toEqual(
      name.endsWith('list') ? [200, expect.any(String)] : [204, ''],
    )
    expect(reported).toMatchObject([{ operation: 'upload.put', request: { method: 'POST' } }])
    expect(String(reported[0]!.error)).toMatch(
      /^Error: The bucket "files" refused a PUT with status 403\. The client of upload [\da-f-]{36} reports: "AccessDenied"$/,
    )
  })

  it('is refused if it is invalid, and ends nothing', async () => {
    const { as, objects, reported } = startService()
    const send = await begin(as('user:1'))
    for (const invalid of [
      ...['x', 7, true, [], {}, { status: 403 }, { message: 'x' }, { status: '403', message: 'x' }],
      ...[
        { status: 1.5, message: 'x' },
        { status: -1, message: 'x' },
        { status: 1000, message: 'x' },
      ],
      ...[
        { status: 403, message: null },
        { status: 403, message: 'x'.repeat(501) },
      ],
    ]) {
      const error = { status: 400, code: 'VALIDATION_ERROR', params: { field: 'failure' } }
      expect([invalid, await errorOf(await send(invalid))]).toMatchObject([invalid, error])
    }
    expect(await objects.countByScope('user:1')).toBe(1)
    for (const nothing of [undefined, null]) {
      await (await begin(as('user:1')))(nothing).then(({ status }) => expect(status).toBeLessThan(300))
    }
    expect(reported).toEqual([])
    expect((await send({ status: 0, message: '😀'.repeat(500), more: 1 })).status).toBeLessThan(300)
    expect(reported).toHaveLength(1)
  })
})

describe('refused PUTs', () => {
  it('say that the browser could not read a response', async () => {
    const { as, reported } = startService()
    await (
      await list(as('user:1'))
    )({ status: null, message: '' })
    expect(String(reported[0]!.error)).toMatch(
      /^Error: The client could not read a response of the bucket "files" to a PUT\. Its CORS rules or its address may be wrong, or it closed the connection early .* reports: ""$/,
    )
  })

  it('are quoted without characters that change a log', async () => {
    const { as, reported } = startService()
    const message = '"a\r\n\u001b[2J\u007f\u0085\u009b\u2028\u202e\u2066\u{e0041}é'
    await (
      await list(as('user:1'))
    )({ status: 500, message })
    expect(String(reported[0]!.error)).toContain(
      String.raw`"\"a\r\n\u001b[2J\u{7f}\u{85}\u{9b}\u{2028}\u{202e}\u{2066}\u{e0041}é"`,
    )
  })

  it('are reported once for an attempt, and ten times a minute for a scope', async () => {
    const { as, reported, clock } = startService()
    const [first, ...others] = await Promise.all(Array.from({ length: 11 }, () => list(as('user:1'))))
    for (const send of [first!, first!, ...others, await list(as('user:2'))]) await send(failure)
    expect(reported).toHaveLength(11)
    clock.advance(MINUTE)
    for (const send of [first!, ...others]) await send(failure)
    // The one that was too much.
    expect(reported).toHaveLength(12)
  })
})
