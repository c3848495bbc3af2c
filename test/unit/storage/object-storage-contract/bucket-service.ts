import { createAttemptId, createS3Server, db, type ErrorBody, type MemoryStorageOptions } from '@svc/db'
import type { SignDownloadInput, SignUploadInput } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { ManualClock, MINUTE } from '../../../conformance/clock.js'
import type { StorageKind } from './storages.js'

export const SERVER_URL = 'https://app.example/api/s3/_storage'
export const HELLO = new TextEncoder().encode('hello')

/** Creates a storage, a handler that serves its URLs, and functions that use them like a browser. */
export function bucketService(
  kind: Pick<StorageKind, 'open'>,
  options: MemoryStorageOptions = {},
  clock = new ManualClock(),
) {
  const storage = kind.open({ now: clock.now, ...options })
  const reported: unknown[] = []
  const { handler } = createS3Server({
    storage,
    onError: (error) => void reported.push(error),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: () => null })],
  })
  const attemptId = createAttemptId()
  const at = { bucket: 'files', key: 'a/b', expiresAt: clock.in(MINUTE), serverURL: SERVER_URL }
  const upload: SignUploadInput = { ...at, size: HELLO.byteLength, contentType: 'text/plain', attemptId }
  const download: SignDownloadInput = { ...at, filename: 'b.txt', contentType: 'text/plain' }

  async function put(input: SignUploadInput, body: BodyInit | null, headers: Record<string, string> = {}) {
    const signed = await storage.signUpload(input)
    const init = { method: signed.method, headers: { ...signed.headers, ...headers }, body }
    return handler(
      new Request(signed.url, { ...init, ...(body instanceof ReadableStream && { duplex: 'half' }) }),
    )
  }

  async function get(input: SignDownloadInput, method = 'GET', headers: Record<string, string> = {}) {
    const { url } = await storage.signDownload(input)
    return handler(new Request(url, { method, headers }))
  }

  return { clock, storage, handler, reported, attemptId, upload, download, put, get }
}

export async function codeOf(response: Response): Promise<[number, string, unknown]> {
  expect(response.headers.get('cache-control')).toBe('private, no-store')
  const { code, params } = (await response.json()) as ErrorBody
  return [response.status, code, params?.['field']]
}

/** Runs an action for each item, up to 6 at a time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  act: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries()
  const worker = async () => {
    for (const [index, item] of entries) await act(item, index)
  }
  await Promise.all(Array.from({ length: 6 }, worker))
}
