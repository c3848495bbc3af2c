import { Blob as RuntimeBlob } from 'node:buffer'
import { createRequire } from 'node:module'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { Window } from 'happy-dom'
import { JSDOM } from 'jsdom'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MULTIPART_MIN_SIZE } from '../../../src/client/upload/sizes.js'

afterEach(() => void vi.unstubAllGlobals())

// The alias of an older version has no types.
const { JSDOM: JSDOM24 } = createRequire(import.meta.url)('jsdom24') as { JSDOM: typeof JSDOM }
const PAGE = { url: 'http://app.test/' }
const OF_ALL = [
  'Blob',
  'File',
  'FileReader',
  'XMLHttpRequest',
  'AbortController',
  'Headers',
  'localStorage',
  'navigator',
  'document',
  'location',
]

/** The globals that test runners take from each DOM. */
const DOMS = [
  ['jsdom 26', () => new JSDOM('', PAGE).window, OF_ALL],
  ['jsdom 24', () => new JSDOM24('', PAGE).window, OF_ALL],
  ['happy-dom', () => new Window(PAGE), [...OF_ALL, 'Request', 'Response']],
] as const

it.each([
  ['crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) }, 'crypto.subtle is missing'],
  ['TextDecoder', undefined, 'TextDecoder is not'],
] as const)('the test recipe names %s where a DOM hides it', async (name, value, message) => {
  vi.resetModules()
  vi.stubGlobal(name, value)
  const library = await import('@svc/db')
  const { memoryAdapter: newAdapter } = await import('@svc/db/memory')
  const errors: unknown[] = []
  const { handler } = library.createS3Server({
    storage: library.memoryStorage(),
    bucket: 'uploads',
    plugins: [library.db({ client: newAdapter(), resolveScope: () => 'user:ann' })],
    onError: (error) => errors.push(error instanceof Error ? (error.cause ?? error) : error),
  })
  const body = JSON.stringify({ filename: 'a', contentType: 'text/plain', size: 1 })
  const headers = { 'content-type': 'application/json' }
  await handler(new Request('http://app.test/api/s3/upload', { method: 'POST', headers, body }))
  expect(errors.map(String)).toEqual([expect.stringContaining(message) as string])
})

describe.each(DOMS)('the test recipe in %s', (_, open, names) => {
  function openPage() {
    const page = open() as unknown as Record<string, unknown>
    for (const name of names) vi.stubGlobal(name, page[name])
    return createS3Server({
      storage: memoryStorage(),
      bucket: 'uploads',
      plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
    })
  }

  it.each([5, MULTIPART_MIN_SIZE + 1])('uploads and downloads %i bytes', async (size) => {
    const s3 = openPage()
    const { api } = createS3Client({
      baseURL: 'http://app.test',
      plugins: [dbClient()],
      // The signals of jsdom are not those of Node, which refuses them from version 24 on.
      fetch: (input, init) => s3.handler(new Request(input, { ...init, signal: null })),
    })
    const bytes = new Uint8Array(size).fill(65)
    const { key } = await api.upload(new File([bytes], 'hello.txt', { type: 'text/plain' }))
    const { url } = await api.download({ key })
    expect(await (await s3.handler(new Request(url))).text()).toBe('A'.repeat(size))
    expect(await api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    await api.delete({ key })
    expect(await api.db.getObject({ key })).toBeNull()
  })

  it.each(['with a custom fetch', 'with XMLHttpRequest'])('uploads a Blob of Node %s', async (way) => {
    const s3 = openPage()
    const serve: typeof fetch = (input, init) => s3.handler(new Request(input, { ...init, signal: null }))
    vi.stubGlobal('fetch', serve)
    const { api } = createS3Client({
      baseURL: 'http://app.test',
      plugins: [],
      fetch: way === 'with XMLHttpRequest' ? null : serve,
    })
    const { key } = await api.upload(new RuntimeBlob(['hello']) as Blob)
    const { url } = await api.download({ key })
    expect(await (await s3.handler(new Request(url))).text()).toBe('hello')
  })
})
