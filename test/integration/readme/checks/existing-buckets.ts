import { createAttemptId, type ObjectStorage, type S3ServerCore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'

interface ImportProgram {
  readonly storage: ObjectStorage
  readonly s3: S3ServerCore
  readonly importBucket: (
    options: { dryRun?: boolean; after?: string | null },
    signal?: AbortSignal,
  ) => Promise<string | null>
}

const bucket = 'uploads'

const writerTo = (storage: ObjectStorage) => (key: string, text: string) => {
  const terms = { contentType: 'text/plain', attemptId: createAttemptId() }
  return storage.write!({ bucket, key, body: new TextEncoder().encode(text), ...terms })
}

/** Also checks what the page says about dry runs, later runs, and files of deleted objects. */
const importsBucket: SnippetCheck = async (program) => {
  const { storage, s3, importBucket } = await run<ImportProgram>(program)
  const put = writerTo(storage)
  await put('logs/today', 'skipped')
  await put('users/42/', '')
  await put('users/42/holiday.jpg', 'pixels')
  await put('users/7/2026/report.PDF', 'pages')
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  const failures = vi.spyOn(console, 'error').mockReturnValue()
  expect(await importBucket({ dryRun: true })).toBe('users/7/2026/report.PDF')
  await expect(s3.files.get({ key: 'users/42/holiday.jpg' })).rejects.toMatchObject({
    code: 'OBJECT_NOT_FOUND',
  })
  const after = await importBucket({})
  expect(after).toBe('users/7/2026/report.PDF')
  await put('users/8/new.png', 'pixels')
  expect(await importBucket({ after })).toBe('users/8/new.png')
  expect(await importBucket({})).toBe('users/8/new.png')
  expect(await importBucket({ after: 'm' }, AbortSignal.abort())).toBe('m')
  expect(logged.mock.calls.flat()).toEqual([
    '2 imported, 0 known, 2 skipped, 0 failed',
    '2 imported, 0 known, 2 skipped, 0 failed',
    '1 imported, 0 known, 0 skipped, 0 failed',
    '0 imported, 3 known, 2 skipped, 0 failed',
    '0 imported, 0 known, 0 skipped, 0 failed',
  ])
  expect(failures).not.toHaveBeenCalled()
  const file = await s3.files.get({ key: 'users/7/2026/report.PDF', scope: 'user:7' })
  expect(file.object).toMatchObject({ filename: 'report.PDF', contentType: 'application/pdf', size: 5 })
  expect(await new Response(file.body).text()).toBe('pages')
  await s3.files.delete({ key: 'users/42/holiday.jpg', scope: 'user:42' })
  expect(await storage.head({ bucket, key: 'users/42/holiday.jpg' })).toBeNull()
  expect(await storage.head({ bucket, key: 'logs/today' })).not.toBeNull()
}

interface CheckProgram {
  readonly checkBucket: (signal?: AbortSignal) => Promise<boolean>
}

/** Also checks that young files are not reported, as the page says. */
const checksBucket: SnippetCheck = async (program) => {
  const { checkBucket } = await run<CheckProgram>(program)
  const { storage, importBucket } = await runSibling<ImportProgram>(program, 'import-bucket.mjs')
  const put = writerTo(storage)
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  await put('users/5/lost.txt', 'lost')
  await put('users/5/other.txt', 'before')
  await importBucket({ after: 'users/5' })
  for (const name of ['lost', 'other']) await storage.remove({ bucket, key: `users/5/${name}.txt` })
  await put('users/5/other.txt', 'afterwards')
  await put('users/5/young.txt', 'unknown yet')
  logged.mockClear()
  expect(await checkBucket()).toBe(false)
  expect(logged.mock.calls.slice(0, -1)).toEqual([
    ['missing', 'uploads/users/5/lost.txt', 'user:5', 4, undefined],
    ['changed', 'uploads/users/5/other.txt', 'user:5', 6, 10],
  ])
  expect(logged.mock.lastCall?.[0]).toMatch(/: 1 missing, 1 changed, 0 unrecorded$/)
}

export const existingBucketsChecks: SnippetChecks = {
  'docs/existing-buckets.md#check-bucket.ts': checksBucket,
  'docs/existing-buckets.md#import-bucket.ts': importsBucket,
}
