import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PutBucketCorsCommand, type CORSConfiguration } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExampleProcess } from '../servers/example-process.js'
import { findServer } from '../servers/found-server.js'
import { freePort, type PrivateFolder } from '../servers/private-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium, useBrowser } from './chromium.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'
import { demoFolder } from './demo-folders.js'
import { openDemo } from './demo-page.js'
import { startDemo } from './demo-server.js'
import { digestOf, writeRandomFile } from './large-files.js'
import { picture } from './pictures.js'

/** Bytes of the file that is uploaded in parts; the last part is smaller. */
const LARGE = 200_000_000
const LARGE_PARTS = Array.from({ length: Math.ceil(LARGE / (8 * 1024 ** 2)) }, (_, index) => index + 1)
/** Less than two such files need. */
const QUOTA_BYTES = String(LARGE * 1.25)

const executablePath = await findChromium()
const s3 = await findServer(RADOSGW)
if ('reason' in s3) console.warn(`Skipped: the demo on S3. There is ${s3.reason}`)

describe.skipIf(executablePath === null || 'reason' in s3)('the demo on an S3 bucket', () => {
  const browser = useBrowser(executablePath)
  let folder: PrivateFolder
  let bucket: DemoBucket
  let server: ExampleProcess
  beforeAll(async () => {
    if ('reason' in s3) return
    folder = await demoFolder()
    bucket = await openBucket(s3.url)
    const dataFolder = folder.path
    const options = { dataFolder, port: await freePort(), settings: { ...bucket.settings, QUOTA_BYTES } }
    const before = await startDemo(options)
    await allowUploads(before.url, (await before.stop()).complaints)
    server = await startDemo(options)
  })
  afterAll(async () => {
    if ('reason' in s3) return
    const stopped = await server.stop()
    await folder.remove('SIGKILL')
    await bucket.remove()
    await s3.stop()
    // The bucket has the CORS rules that the demo printed, so it prints nothing now.
    expect(stopped).toEqual({ code: 0, complaints: '' })
  })

  /** Sets the CORS rules that the demo prints for a bucket without any. */
  async function allowUploads(pageOrigin: string, complaints: string): Promise<void> {
    expect(complaints).toMatch(/^The bucket doesn't allow uploads from this page\./)
    expect(complaints).not.toContain(bucket.settings.AWS_SECRET_ACCESS_KEY)
    const rules = JSON.parse(complaints.slice(complaints.indexOf('{'))) as CORSConfiguration
    expect(rules.CORSRules).toMatchObject([{ AllowedOrigins: [pageOrigin] }])
    await bucket.client.send(new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration: rules }))
  }

  it('uploads straight from the browser, shows thumbnails, downloads the same bytes and deletes', async () => {
    const demo = await openDemo(browser(), server.url)
    const sentToBucket: string[] = []
    demo.page.on('request', (request) => {
      if (new URL(request.url()).origin === bucket.settings.S3_ENDPOINT) sentToBucket.push(request.method())
    })

    const name = 'Müller & Søn – 日本 😀 (1).bin'
    const bytes = randomBytes(3_000_000)
    const photo = picture(320, 200, [200, 80, 60])
    await demo.choose(
      { name, mimeType: 'application/octet-stream', buffer: bytes },
      { name: 'wide.png', mimeType: 'image/png', buffer: photo },
    )
    await demo.uploaded()
    await demo.shows([name, 'wide.png'])
    await demo.usage('2 of 40 files')
    expect(sentToBucket.filter((method) => method === 'PUT')).toHaveLength(2)
    // The server stores the thumbnail in the background.
    await expect.poll(() => bucket.sizes()).toHaveLength(3)
    expect(await bucket.sizes()).toEqual(expect.arrayContaining([photo.length, bytes.length]))

    await demo.page.reload()
    const image = demo.card('wide.png').locator('img')
    await image.waitFor()
    expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(320)

    const downloading = demo.page.waitForEvent('download')
    await demo.page.getByRole('button', { name: `Download ${name}` }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(name)
    expect(bytes.equals(await readFile(await download.path()))).toBe(true)

    await demo.delete(name)
    await demo.shows(['wide.png'])
    await demo.usage('1 of 40 files')
    await expect.poll(() => bucket.sizes()).toHaveLength(2)
    expect(await bucket.sizes()).toContain(photo.length)
    await demo.delete('wide.png')
    await expect.poll(() => bucket.sizes()).toEqual([])

    await demo.page.context().close()
    expect(demo.complaints).toEqual([])
  })

  it('resumes a large file after a reload, sends only the missing parts and downloads the same bytes', async () => {
    const demo = await openDemo(browser(), server.url)
    const { page } = demo
    const file = join(folder.path, 'film.bin')
    const digest = await writeRandomFile(file, LARGE)
    const sentParts: number[] = []
    page.on('request', (request) => {
      const { origin, searchParams } = new URL(request.url())
      const isPart = origin === bucket.settings.S3_ENDPOINT && request.method() === 'PUT'
      if (isPart) sentParts.push(Number(searchParams.get('partNumber')))
    })

    // Slow enough that the reload comes in the middle of the upload.
    await demo.throttle(12_000_000)
    await demo.chooseFromDisk(file)
    const arrived = async () => (await bucket.pendingParts()).flat().length
    await expect.poll(arrived).toBeGreaterThanOrEqual(4)
    await page.reload()
    await demo.throttle(null)
    expect(sentParts.length).toBeLessThan(LARGE_PARTS.length)
    sentParts.length = 0

    const listing = page.waitForResponse((response) => response.url().endsWith('/multipart/list'))
    await demo.chooseFromDisk(file)
    const { parts } = (await (await listing).json()) as { parts: { partNumber: number }[] }
    const stored = parts.map(({ partNumber }) => partNumber)
    expect(stored.length).toBeGreaterThanOrEqual(4)
    await demo.uploaded()
    await demo.shows(['film.bin'])
    expect(sentParts.sort((a, b) => a - b)).toEqual(LARGE_PARTS.filter((part) => !stored.includes(part)))
    await demo.usage('200 MB of 250 MB')
    expect(await bucket.pendingParts()).toEqual([])
    expect(await bucket.sizes()).toEqual([LARGE])

    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download film.bin' }).click()
    const download = await downloading
    expect(new URL(download.url()).origin).toBe(bucket.settings.S3_ENDPOINT)
    expect(await digestOf(await download.path())).toBe(digest)

    await demo.delete('film.bin')
    await demo.usage('0 bytes of 250 MB')
    await expect.poll(() => bucket.sizes()).toEqual([])
    await page.context().close()
    expect(demo.complaints).toEqual([])
  })
})
