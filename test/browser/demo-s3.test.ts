import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PutBucketCorsCommand, type CORSConfiguration } from '@aws-sdk/client-s3'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { freePort } from '../servers/private-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium } from './chromium.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'
import { openDemoFolders, type DemoFolders } from './demo-folders.js'
import { openDemo } from './demo-page.js'
import { startDemo } from './demo-server.js'
import { digestOf, writeRandomFile } from './large-files.js'
import { picture } from './pictures.js'

/** 24 parts, the last of them smaller. */
const LARGE = 200_000_000
const LARGE_PARTS = Array.from({ length: 24 }, (_, index) => index + 1)
/** A little more than one such file needs, and less than two. */
const ROOM_FOR_ONE = '250000000'
/** For a machine that is busy with other things; a quiet one needs a small part of it. */
const LARGE_TIME_LIMIT = 240_000

const executablePath = await findChromium()
const s3 = await findServer(RADOSGW)
if ('reason' in s3) console.warn(`Skipped: the demo on S3. There is ${s3.reason}`)

describe.skipIf(executablePath === null || 'reason' in s3)('the demo on a bucket of S3', () => {
  let browser: Browser
  let folders: DemoFolders
  let bucket: DemoBucket
  beforeAll(async () => {
    if ('reason' in s3) return
    folders = await openDemoFolders()
    browser = await chromium.launch({ executablePath: executablePath ?? '' })
    bucket = await openBucket(s3.url)
  })
  afterAll(async () => {
    if ('reason' in s3) return
    await browser.close()
    await folders.remove()
    await bucket.remove()
    await s3.stop()
  })

  let port: number
  it('is used once it allows what the demo says that it must', async () => {
    port = await freePort()
    const demo = await startDemo({ dataFolder: folders.fresh(), port, settings: bucket.settings })
    const { code, complaints } = await demo.stop()
    expect(code).toBe(0)
    expect(complaints).toMatch(/^The bucket doesn't allow uploads from this page\./)
    expect(complaints).not.toContain(bucket.settings.AWS_SECRET_ACCESS_KEY)

    const advice = JSON.parse(complaints.slice(complaints.indexOf('{'))) as CORSConfiguration
    expect(advice.CORSRules).toMatchObject([{ AllowedOrigins: [demo.url] }])
    await bucket.client.send(new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration: advice }))
    const again = await startDemo({ dataFolder: folders.fresh(), port, settings: bucket.settings })
    expect(await again.stop()).toEqual({ code: 0, complaints: '' })
  })

  it('takes the bytes straight from the browser, shows pictures, gives back the very bytes, and deletes', async () => {
    const server = await startDemo({ dataFolder: folders.fresh(), port, settings: bucket.settings })
    onTestFinished(async () => void (await server.stop()))
    const demo = await openDemo(browser, server.url)
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
    expect((await bucket.sizes()).sort((a, b) => a - b)).toEqual([photo.length, bytes.length])

    await demo.page.reload()
    const image = demo.card('wide.png').locator('img')
    await image.waitFor()
    expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(320)

    const downloading = demo.page.waitForEvent('download')
    await demo.page.getByRole('button', { name: `Download ${name}` }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(name)
    expect(bytes.equals(await readFile(await download.path()))).toBe(true)

    await demo.page.getByRole('button', { name: `Delete ${name}` }).click()
    await demo.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await demo.shows(['wide.png'])
    await demo.usage('1 of 40 files')
    await expect.poll(() => bucket.sizes()).toEqual([photo.length])

    await demo.page.context().close()
    expect(await server.stop()).toEqual({ code: 0, complaints: '' })
    expect(demo.complaints).toEqual([])
  })

  it(
    'goes on with a file of 200 MB after a reload in the middle, sends only what is missing, and gives back the very bytes',
    async () => {
      const dataFolder = folders.fresh()
      const settings = { ...bucket.settings, QUOTA_BYTES: ROOM_FOR_ONE }
      const server = await startDemo({ dataFolder, port, settings })
      onTestFinished(async () => void (await server.stop()))
      const demo = await openDemo(browser, server.url)
      const { page } = demo
      page.setDefaultTimeout(LARGE_TIME_LIMIT)
      const file = join(dataFolder, 'film.bin')
      const digest = await writeRandomFile(file, LARGE)
      const sentParts: number[] = []
      page.on('request', (request) => {
        const { origin, searchParams } = new URL(request.url())
        const isPart = origin === bucket.settings.S3_ENDPOINT && request.method() === 'PUT'
        if (isPart) sentParts.push(Number(searchParams.get('partNumber')))
      })

      // A line on which the whole takes long enough that there is a middle.
      await demo.throttle(12_000_000)
      await demo.chooseFromDisk(file)
      const arrived = async () => (await bucket.partsUnderWay()).flat().length
      await expect.poll(arrived, { timeout: LARGE_TIME_LIMIT }).toBeGreaterThanOrEqual(4)
      await page.reload()
      await demo.throttle(null)
      expect(sentParts.length).toBeLessThan(LARGE_PARTS.length)
      sentParts.length = 0

      const listing = page.waitForResponse((response) => response.url().endsWith('/multipart/list'))
      await demo.chooseFromDisk(file)
      const { parts } = (await (await listing).json()) as { parts: { partNumber: number }[] }
      const there = parts.map(({ partNumber }) => partNumber)
      expect(there.length).toBeGreaterThanOrEqual(4)
      await demo.uploaded()
      await demo.shows(['film.bin'])
      expect(sentParts.sort((a, b) => a - b)).toEqual(LARGE_PARTS.filter((part) => !there.includes(part)))
      await demo.usage('200 MB of 250 MB')
      expect(await bucket.partsUnderWay()).toEqual([])
      expect(await bucket.sizes()).toContain(LARGE)

      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download film.bin' }).click()
      const download = await downloading
      expect(new URL(download.url()).origin).toBe(bucket.settings.S3_ENDPOINT)
      expect(await digestOf(await download.path())).toBe(digest)

      await page.getByRole('button', { name: 'Delete film.bin' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await demo.usage('0 bytes of 250 MB')
      await expect.poll(() => bucket.sizes()).not.toContain(LARGE)
      await page.context().close()
      expect(await server.stop()).toEqual({ code: 0, complaints: '' })
      folders.drop(dataFolder)
      expect(demo.complaints).toEqual([])
    },
    LARGE_TIME_LIMIT,
  )
})
