import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { PutBucketCorsCommand, type CORSConfiguration } from '@aws-sdk/client-s3'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { freePort } from '../servers/private-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium } from './chromium.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'
import { openDemoFolders, type DemoFolders } from './demo-folders.js'
import { openDemo } from './demo-page.js'
import { startDemo } from './demo-server.js'
import { picture } from './pictures.js'

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
})
