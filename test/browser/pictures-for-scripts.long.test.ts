import { PutBucketCorsCommand } from '@aws-sdk/client-s3'
import { createS3Server, db } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { startHttpServer, type HttpServer } from '../servers/http-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium, openContext } from './chromium.js'
import { clientScript } from './client-page.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'
import { picture } from './pictures.js'

/** A host whose pages send no `Sec-Fetch-Mode`, because browsers only trust 127.0.0.1 without TLS. */
const PLAIN_HOST = 'files.test'

const executablePath = await findChromium()
const radosgw = await findServer(RADOSGW)
if ('reason' in radosgw) console.warn(`Skipped: pictures of a bucket. There is ${radosgw.reason}`)

// radosgw responds without CORS headers to a request without an origin, as S3 does.
describe.skipIf(executablePath === null || 'reason' in radosgw)('a picture that a page shows', () => {
  let browser: Browser
  let bucket: DemoBucket
  let server: HttpServer
  beforeAll(async () => {
    if ('reason' in radosgw) return
    const args = [`--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`]
    browser = await chromium.launch({ executablePath: executablePath ?? '', timeout: 0, args })
    bucket = await openBucket(radosgw.url)
    const rule = { AllowedOrigins: ['*'], AllowedMethods: ['GET'] }
    await bucket.client.send(
      new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration: { CORSRules: [rule] } }),
    )
    const s3 = createS3Server({
      storage: s3Storage({ client: bucket.client }),
      bucket: bucket.name,
      plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ada' })],
    })
    const body = new Blob([new Uint8Array(picture(4, 4, [7, 8, 9]))])
    await s3.files.put({ key: 'a.png', scope: 'ada', contentType: 'image/png', body })
    const script = await clientScript
    const app = express()
    app.get('/', (_req, res) => void res.type('html').send(`<script type="module">${script}</script>`))
    app.use(expressBinding(s3))
    server = await startHttpServer((req, res) => void app(req, res))
  })
  afterAll(async () => {
    if ('reason' in radosgw) return
    await browser.close()
    await server.stop()
    await bucket.remove()
    await radosgw.stop()
  })

  /** Shows the picture by `<img>`, and then reads it by scripts, at these addresses. */
  async function readAfterShowing(host: string, cors: boolean) {
    const context = await openContext(browser)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(server.url.replace('127.0.0.1', host))
    await page.waitForFunction(() => 'client' in window)
    return page.evaluate(async (forScripts) => {
      const { api } = window.client.createS3Client({ plugins: [] })
      const named = { key: 'a.png', disposition: 'inline' } as const
      const image = new Image()
      image.src = api.fileURL(named)
      await image.decode()
      document.body.append(image)

      const address = api.fileURL({ ...named, cors: forScripts })
      const readable = new Image()
      readable.crossOrigin = 'anonymous'
      readable.src = address
      const canvas = document.createElement('canvas').getContext('2d')!
      const drawn = await readable.decode().then(
        () => {
          canvas.drawImage(readable, 0, 0)
          return [...canvas.getImageData(1, 1, 1, 1).data].slice(0, 3)
        },
        () => 'refused',
      )
      const fetched = await fetch(address).then(
        async (response) => (await createImageBitmap(await response.blob())).width,
        () => 'refused',
      )
      return { shown: image.naturalWidth, fetched, drawn }
    }, cors)
  }

  it.each([
    ['127.0.0.1', false],
    [PLAIN_HOST, true],
  ])('at http://%s can be read by its scripts, with cors: %j', async (host, cors) => {
    expect(await readAfterShowing(host, cors)).toEqual({ shown: 4, fetched: 4, drawn: [7, 8, 9] })
  })

  it('on plain HTTP can be fetched only with `cors`', async () => {
    expect(await readAfterShowing(PLAIN_HOST, false)).toMatchObject({ shown: 4, fetched: 'refused' })
  })
})
