import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, type S3Api } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { run, type SnippetChecks } from '../programs.js'

interface UnfinishedUploads {
  readonly showUnfinished: (
    api: S3Api,
    addRow: (text: string, discard: () => Promise<void>) => void,
  ) => Promise<void>
}

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
    fetch: (input, init) =>
      init?.method === 'PUT' && isBucketDown
        ? new Promise<Response>(() => undefined)
        : s3.handler(new Request(input, init)),
  })
  const size = 16 * 1024 ** 2
  const film = new File([new Uint8Array(size)], 'film.mp4', { lastModified: 1 })
  await expect(api.upload(film, { timeoutSeconds: 1 })).rejects.toMatchObject({ code: 'TIMEOUT' })
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
