import { runInNewContext } from 'node:vm'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readJsonObject } from '../../../src/core/http/request-body.js'

afterEach(() => void vi.useRealTimers())

/** Evaluates an expression in another realm, as `node:vm` makes it for each test file of jest. */
const foreign = <T>(expression: string) => runInNewContext(expression, { Buffer }) as T
const DATE = '2030-01-01T00:00:00.000Z'
const foreignDate = () => foreign<Date>(`new Date('${DATE}')`)

function start() {
  const client = memoryAdapter({ events: true })
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client, resolveScope: () => 'ann' })],
  })
  return { client, s3 }
}

const at = { scope: 'ann', bucket: 'files', key: 'a.txt' }

describe('accepts from another realm', () => {
  it('dates', async () => {
    expect(foreignDate() instanceof Date).toBe(false)
    const store = memoryAdapter({ now: foreignDate, objects: [{ ...at, createdAt: foreignDate() }] })
    expect((await store.findActive(at))?.createdAt).toEqual(new Date(DATE))
    const later = foreign<Date>(`new Date('2031-01-01')`)
    const reserved = await store.reserve({ ...at, key: 'b.txt', declaredSize: 5, expiresAt: later })
    expect(reserved.expiresAt).toEqual(new Date('2031-01-01'))
  })

  it.each(['Uint8Array.of(1, 2)', 'Uint8Array.of(1, 2).buffer'])('bytes: %s', async (bytes) => {
    const { s3 } = start()
    const { size } = await s3.files.put({ scope: 'ann', filename: 'a.bin', body: foreign<Uint8Array>(bytes) })
    expect(size).toBe(2)
  })

  it('streams', async () => {
    const { s3 } = start()
    const stream = '(async function* () { yield Uint8Array.of(1, 2) })()'
    const { size } = await s3.files.put({
      scope: 'ann',
      filename: 'a.bin',
      size: 2,
      body: foreign<AsyncGenerator<Uint8Array>>(stream),
    })
    expect(size).toBe(2)
  })

  it('the bytes of a body parser', async () => {
    const request = new Request('http://app.test', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    const value = foreign('Uint8Array.from(Buffer.from(\'{"a":1}\'))')
    expect(await readJsonObject(request, { kind: 'parsed', value })).toEqual({ a: 1 })
  })
})

it('accepts a date from before a test replaced the class', async () => {
  const expiresAt = new Date(DATE)
  vi.setSystemTime('2026-01-01')
  const store = memoryAdapter()
  const reserved = await store.reserve({ ...at, declaredSize: 5, expiresAt })
  expect(reserved.expiresAt?.toISOString()).toBe(DATE)
})

it('refuses what only looks like a date', async () => {
  const expiresAt = { getTime: () => Date.parse(DATE) } as Date
  await expect(memoryAdapter().reserve({ ...at, declaredSize: 5, expiresAt })).rejects.toThrow(
    'expiresAt must be a Date (got an object).',
  )
})
