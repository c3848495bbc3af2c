import type * as clientExports from '@svc/db/client'
import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { throttle, untilKept, useBrowserSessions } from './browser-session.js'
import type { ClientPage } from './client-page.js'

declare global {
  interface Window {
    client: typeof clientExports
    /** Aborts the upload. */
    stopUpload: () => void
  }
}

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
const PART = 8 * 1024 ** 2
/** Three parts, the last of them small: the least that is sent in parts. */
const SIZE = 2 * PART + 1000

interface Outcome {
  readonly object?: clientExports.DbClientObject
  readonly code?: string
  readonly loaded: readonly number[]
}

/** Uploads a file, the same each time, whose bytes are their part number. */
function upload(page: Page): Promise<Outcome> {
  return page.evaluate(
    async ({ size, part }): Promise<Outcome> => {
      const bytes = new Uint8Array(size)
      for (let at = 0; at < size; at += part) bytes.fill(at / part + 1, at, at + part)
      const file = new File([bytes], 'film.mp4', { type: 'video/mp4', lastModified: 1_700_000_000_000 })
      const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
      const controller = new AbortController()
      window.stopUpload = () => controller.abort()
      const loaded: number[] = []
      const onProgress = (step: clientExports.UploadProgress) => loaded.push(step.loaded)
      return api.upload(file, { onProgress, signal: controller.signal }).then(
        (object) => ({ object, loaded }),
        ({ code }: clientExports.S3ClientError) => ({ code, loaded }),
      )
    },
    { size: SIZE, part: PART },
  )
}

export const multipartUploads = (browser: () => Browser): void => {
  describe('a multipart upload', () => {
    const startSession = useBrowserSessions(browser)
    let server: ClientPage
    let page: Page
    let openPage: () => Promise<Page>

    beforeEach(async () => {
      ;({ server, page, openPage } = await startSession())
    })

    /** Waits until the page has sent all parts, of which the bucket has stored the first. */
    async function untilHalfSent(): Promise<void> {
      await expect.poll(() => [server.partsStored.length, server.partsSent.length]).toEqual([1, 3])
      await untilKept(page)
    }

    async function expectWhole({ object }: Outcome): Promise<void> {
      expect(object).toMatchObject({ status: 'active', filename: 'film.mp4', size: SIZE })
      const bytes = await server.bytesOf(object!.key)
      expect(bytes).toHaveLength(SIZE)
      const wrong = [0, 1, 2].filter((part) => {
        const slice = bytes.subarray(part * PART, (part + 1) * PART)
        return !slice.equals(Buffer.alloc(slice.length, part + 1))
      })
      expect(wrong).toEqual([])
    }

    it('resumes after a reload, and sends only the missing parts, without headers and cookies of the application', async () => {
      server.hold([2, 3])
      const interrupted = upload(page).catch(() => null)
      await untilHalfSent()
      expect(server.partsStored).toEqual([1])
      await page.reload()
      expect(await interrupted).toBeNull()
      await page.waitForFunction(() => 'client' in window)
      expect(await server.usage()).toEqual({ ...NOTHING_USED, reservedBytes: SIZE, reservedFiles: 1 })
      server.hold([])
      const before = server.toAPI.length
      await throttle(page, 20_000_000)

      const resumed = await upload(page)
      const requests = server.toAPI.slice(before)
      // Nothing of the application goes to signed URLs.
      expect(server.toBucket).toHaveLength(5)
      for (const headers of server.toBucket) {
        for (const name of ['cookie', 'authorization', 'x-user', 'content-type'])
          expect(headers).not.toHaveProperty(name)
      }
      await expectWhole(resumed)
      expect([...server.partsStored].sort()).toEqual([1, 2, 3])
      expect(server.partsSent).toHaveLength(5)
      const { loaded } = resumed
      expect([loaded[0], loaded.at(-1)]).toEqual([PART, SIZE])
      expect(loaded).toEqual([...new Set(loaded)].sort((one, other) => one - other))
      expect(loaded.some((bytes) => bytes % PART !== 0 && bytes < SIZE)).toBe(true)
      expect(requests).toEqual(['POST /multipart/list', 'POST /multipart/parts', 'POST /multipart/complete'])
      expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: SIZE, files: 1 })
      expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    })

    it('is aborted at the server, and not resumed afterwards', async () => {
      server.hold([2, 3])
      const aborted = upload(page)
      await untilHalfSent()
      await page.evaluate(() => window.stopUpload())
      expect((await aborted).code).toBe('ABORTED')
      await expect.poll(() => server.usage()).toEqual(NOTHING_USED)
      expect(server.toAPI.at(-1)).toBe('POST /multipart/abort')
      await expect.poll(() => page.evaluate(() => Object.keys(localStorage))).toEqual([])
      server.hold([])
      await expectWhole(await upload(page))
      expect(server.toAPI).not.toContain('POST /multipart/list')
    })

    it('creates two objects when run in two tabs at once', async () => {
      const other = await openPage()
      const outcomes = await Promise.all([upload(page), upload(other)])
      for (const outcome of outcomes) await expectWhole(outcome)
      expect(new Set(outcomes.map(({ object }) => object?.key)).size).toBe(2)
      expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 2 * SIZE, files: 2 })
    })
  })
}
