import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, type S3Api } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { expect, vi } from 'vitest'
import { run, type SnippetChecks } from '../programs.js'

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
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    plugins: [db({ client, resolveScope: () => 'user:ann' })],
  })
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
  try {
    const upload = api.upload(film, { timeoutSeconds: LIMIT_SECONDS })
    await expect(upload).rejects.toMatchObject({ code: 'TIMEOUT' })
  } finally {
    vi.useRealTimers()
  }
  isBucketDown = false

  const rows = new Map<string, () => Promise<void>>()
  await showUnfinished(api, (text, discard) => rows.set(text, discard))
  expect([...rows.keys()]).toEqual([`film.mp4: 0 of ${size} bytes`])
  for (const discard of rows.values()) await discard()
  expect(await client.getScopeUsage('user:ann')).toMatchObject({ reservedBytes: 0 })
}

export const browserClientChecks: SnippetChecks = {
  'docs/browser-client.md#unfinished-uploads.ts': listsAndDiscards,
}
