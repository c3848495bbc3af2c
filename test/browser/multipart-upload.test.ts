import type * as clientExports from '@svc/db/client'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { findChromium } from './chromium.js'
import { startClientPage, type ClientPage } from './client-page.js'

declare global {
  interface Window {
    client: typeof clientExports
    /** Ends what `begin` has begun. */
    stopUpload: () => void
  }
}

const executablePath = await findChromium()
const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
const PART = 8 * 1024 ** 2
/** Five parts. */
const SIZE = 40_000_000

interface Outcome {
  readonly object?: clientExports.DbClientObject
  readonly code?: string
  readonly loaded: readonly number[]
}

/** Uploads the same file each time: byte by byte the number of its part. */
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

describe.skipIf(executablePath === null)('an upload in parts', () => {
  let browser: Browser
  let server: ClientPage
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '' })
  })
  afterAll(() => browser.close())
  beforeEach(async () => {
    server = await startClientPage()
    context = await browser.newContext()
    page = await openPage()
  })
  afterEach(async () => {
    await context.close()
    await server.stop()
  })

  async function openPage(): Promise<Page> {
    const opened = await context.newPage()
    await opened.goto(server.url)
    await opened.waitForFunction(() => 'client' in window)
    return opened
  }

  /** Waits until the page has sent every part, of which the bucket took the first two. */
  async function untilHalfThere(): Promise<void> {
    await vi.waitUntil(() => server.partsTaken.length === 2 && server.partsSent.length === 5, {
      timeout: 30_000,
    })
  }

  async function expectWhole({ object }: Outcome): Promise<void> {
    expect(object).toMatchObject({ status: 'active', filename: 'film.mp4', size: SIZE })
    const bytes = await server.bytesOf(object!.key)
    expect(bytes).toHaveLength(SIZE)
    const wrong = [0, 1, 2, 3, 4].filter((part) => {
      const slice = bytes.subarray(part * PART, (part + 1) * PART)
      return !slice.equals(Buffer.alloc(slice.length, part + 1))
    })
    expect(wrong).toEqual([])
  }

  it('goes on after a reload in the middle, and sends only what is missing', async () => {
    server.hold([3, 4, 5])
    const cutOff = upload(page).catch(() => null)
    await untilHalfThere()
    expect([...server.partsTaken].sort()).toEqual([1, 2])
    await page.reload()
    expect(await cutOff).toBeNull()
    await page.waitForFunction(() => 'client' in window)
    expect(await server.usage()).toEqual({ ...NOTHING_USED, reservedBytes: SIZE, reservedFiles: 1 })
    server.hold([])
    const asked = server.toAPI.length

    const resumed = await upload(page)
    const asking = server.toAPI.slice(asked)
    await expectWhole(resumed)
    expect([...server.partsTaken].sort()).toEqual([1, 2, 3, 4, 5])
    expect(server.partsSent).toHaveLength(8)
    expect(resumed.loaded[0]).toBe(2 * PART)
    expect(resumed.loaded.at(-1)).toBe(SIZE)
    expect(asking).toEqual(['POST /multipart/list', 'POST /multipart/parts', 'POST /multipart/complete'])
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: SIZE, files: 1 })
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
  })

  it('tells of progress in bytes over the whole file, never backwards', async () => {
    const session = await context.newCDPSession(page)
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 20_000_000,
    })
    const outcome = await upload(page)
    await expectWhole(outcome)
    const { loaded } = outcome
    expect(loaded).toEqual([...new Set(loaded)].sort((one, other) => one - other))
    expect(loaded.some((bytes) => bytes % PART !== 0 && bytes < SIZE)).toBe(true)
    expect(loaded.at(-1)).toBe(SIZE)
  })

  it('ends at the server when it is aborted, and is not resumed', async () => {
    server.hold([3, 4, 5])
    const aborted = upload(page)
    await untilHalfThere()
    await page.evaluate(() => window.stopUpload())
    expect((await aborted).code).toBe('ABORTED')
    expect(server.toAPI.at(-1)).toBe('POST /multipart/abort')
    expect(await server.usage()).toEqual(NOTHING_USED)
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    server.hold([])
    await expectWhole(await upload(page))
    expect(server.toAPI).not.toContain('POST /multipart/list')
  })

  it('in two tabs at once is two whole objects', async () => {
    const other = await openPage()
    const outcomes = await Promise.all([upload(page), upload(other)])
    for (const outcome of outcomes) await expectWhole(outcome)
    expect(new Set(outcomes.map(({ object }) => object?.key)).size).toBe(2)
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 2 * SIZE, files: 2 })
  })

  it('sends a signed URL no header and no cookie of the application', async () => {
    await upload(page)
    expect(server.toBucket).toHaveLength(5)
    for (const headers of server.toBucket) {
      for (const name of ['cookie', 'authorization', 'x-user', 'content-type'])
        expect(headers).not.toHaveProperty(name)
    }
  })
})
