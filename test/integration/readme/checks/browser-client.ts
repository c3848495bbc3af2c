import { createS3Server, db, memoryStorage, type DbClientObject, type StorageObjectStore } from '@svc/db'
import { createS3Client, type DbApi, type S3Api } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import type { UploadQueue } from '@svc/db/uploads'
import { expect, vi } from 'vitest'
import { run, type SnippetChecks } from '../programs.js'
import { clientOf } from './app-client.js'

const serverOf = (client: StorageObjectStore) =>
  createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    plugins: [db({ client, resolveScope: () => 'user:ann' })],
  })

interface UnfinishedUploads {
  readonly showUnfinished: (
    api: S3Api,
    addRow: (text: string, discard: () => Promise<void>) => void,
  ) => Promise<void>
}

const LIMIT_SECONDS = 60

async function listsAndDiscards(program: string): Promise<void> {
  const { showUnfinished } = await run<UnfinishedUploads>(program)
  const client = memoryAdapter()
  const s3 = serverOf(client)
  let isBucketDown = true
  const { api } = createS3Client({
    baseURL: 'http://app.test',
    plugins: [],
    account: 'ann',
    fetch(input, init) {
      if (init?.method !== 'PUT' || !isBucketDown) return s3.handler(new Request(input, init))
      // The upload has started, so from here on the client keeps it.
      vi.advanceTimersByTime(LIMIT_SECONDS * 1000)
      return new Promise<Response>(() => undefined)
    },
  })
  const size = 16 * 1024 ** 2
  const film = new File([new Uint8Array(size)], 'film.mp4', { lastModified: 1 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const upload = api.upload(film, { timeoutSeconds: LIMIT_SECONDS })
  await expect(upload).rejects.toMatchObject({ code: 'TIMEOUT' })
  vi.useRealTimers()
  isBucketDown = false

  const rows = new Map<string, () => Promise<void>>()
  await showUnfinished(api, (text, discard) => rows.set(text, discard))
  expect([...rows.keys()]).toEqual([`film.mp4: 0 of ${size} bytes`])
  for (const discard of rows.values()) await discard()
  expect(await client.getScopeUsage('user:ann')).toMatchObject({ reservedBytes: 0 })
}

interface Objects {
  readonly allObjects: (api: { readonly db: DbApi }) => Promise<readonly DbClientObject[]>
  readonly stateOf: (api: { readonly db: DbApi }, id: string) => Promise<string>
}

async function readsObjects(program: string): Promise<void> {
  const { allObjects, stateOf } = await run<Objects>(program)
  const client = memoryAdapter()
  const api = clientOf({ s3: serverOf(client) }, 'ann')
  const createdAt = new Date('2026-01-01')
  for (let file = 0; file < 101; file++) {
    const at = { scope: 'user:ann', bucket: 'uploads', key: `${file}`, storageKey: `${file}` }
    await client.adopt({ ...at, size: 1, createdAt })
  }
  const objects = await allObjects(api)
  expect(new Set(objects.map(({ key }) => key)).size).toBe(101)
  const { id, key } = objects[0]!
  expect(await stateOf(api, id)).toBe('active')
  await api.delete({ key })
  expect(await stateOf(api, id)).toBe('missing')
}

interface Queue {
  readonly queue: UploadQueue
  readonly showUploads: (show: (line: string) => void) => () => void
}

async function showsQueue(program: string): Promise<void> {
  const { handler } = createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    routes: { photos: { contentTypes: ['image/*'] } },
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
  })
  vi.stubGlobal('fetch', (path: string, init: RequestInit) =>
    handler(new Request(new URL(path, 'http://app.test'), init)),
  )
  const { queue, showUploads } = await run<Queue>(program)
  const lines: string[] = []
  const stop = showUploads((line) => lines.push(line))
  queue.add([new File(['abc'], 'a.png', { type: 'image/png' }), new File(['abc'], 'b.txt')])
  await expect.poll(() => lines).toContain('a.png: done')
  expect(lines).toEqual(
    expect.arrayContaining(['b.txt: CONTENT_TYPE_NOT_ALLOWED', '3 of 3 bytes, 0 seconds left']),
  )
  stop()
}

export const browserClientChecks: SnippetChecks = {
  'docs/browser-client.md#upload-queue.ts': showsQueue,
  'docs/browser-client.md#objects.ts': readsObjects,
  'docs/browser-client.md#unfinished-uploads.ts': listsAndDiscards,
}
