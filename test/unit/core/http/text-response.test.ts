import { describe, expect, it } from 'vitest'
import { lazyTextResponse, textResponse } from '../../../../src/core/http/text-response.js'

const JSON_TEXT = '{"key":"ü"}'
const INIT = { status: 201, headers: { 'content-type': 'application/json' } }

describe.each([
  { kind: 'a response', create: textResponse },
  { kind: 'a response whose body is created on demand', create: lazyTextResponse },
])('$kind', ({ create }) => {
  const response = () => create(JSON_TEXT, INIT)

  it('is a Response with its status and headers', () => {
    const { status, ok, headers } = response()
    expect(response()).toBeInstanceOf(Response)
    expect({ status, ok, headers: [...headers] }).toEqual({
      status: 201,
      ok: true,
      headers: [['content-type', 'application/json']],
    })
  })

  it('has a body that every method reads', async () => {
    expect(await response().text()).toBe(JSON_TEXT)
    expect(await response().json()).toEqual({ key: 'ü' })
    expect(Buffer.from(await response().arrayBuffer()).toString()).toBe(JSON_TEXT)
    expect(await (await response().blob()).text()).toBe(JSON_TEXT)
    expect(await new Response(response().body).text()).toBe(JSON_TEXT)
  })

  it('can be read once', async () => {
    const read = response()
    expect(read.bodyUsed).toBe(false)
    await read.text()
    expect(read.bodyUsed).toBe(true)
    await expect(read.text()).rejects.toThrow(TypeError)
  })

  it('can be copied with its body', async () => {
    const original = response()
    original.headers.set('x-added', '1')
    const clone = original.clone()
    const copy = new Response(clone.body, clone)
    expect([copy.status, copy.headers.get('x-added'), await copy.text()]).toEqual([201, '1', JSON_TEXT])
    expect(await original.text()).toBe(JSON_TEXT)
  })
})
