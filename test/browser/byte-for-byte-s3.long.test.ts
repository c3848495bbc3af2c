import type * as clientExports from '@svc/db/client'
import { PutBucketCorsCommand } from '@aws-sdk/client-s3'
import { createS3Server, db } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import fc from 'fast-check'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { startHttpServer, type HttpServer } from '../servers/http-server.js'
import { until } from '../until.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium, openContext } from './chromium.js'
import { bytesOf, content, cutOff, PART, SIZE, type Content } from './contents.js'
import { PLAIN_HOST } from './engines/engines.js'
import { clientScript } from './client-page.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'

declare global {
  interface Window {
    client: typeof clientExports
  }
}

/** Uploads a file in the page. All have the same name, size and time. */
function upload(page: Page, { fills, edit }: Content): Promise<string> {
  return page.evaluate(
    async ([fills, edit, part, size]) => {
      const bytes = new Uint8Array(size)
      fills.forEach((fill, index) => bytes.fill(fill, index * part, (index + 1) * part))
      bytes[edit] = 9
      const { api } = window.client.createS3Client({ plugins: [] })
      return (await api.upload(new File([bytes], 'film.mp4', { lastModified: 1 }))).key
    },
    [fills, edit, PART, SIZE] as const,
  )
}

const executablePath = await findChromium()
const radosgw = await findServer(RADOSGW)
if ('reason' in radosgw) console.warn(`Skipped: uploads to a bucket. There is ${radosgw.reason}`)

describe.skipIf(executablePath === null)('a resumed upload in a browser', () => {
  let browser: Browser
  let bucket: DemoBucket | undefined
  beforeAll(async () => {
    const args = [`--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`]
    browser = await chromium.launch({ executablePath: executablePath ?? '', timeout: 0, args })
    if ('reason' in radosgw) return
    bucket = await openBucket(radosgw.url)
    const rule = { AllowedOrigins: ['*'], AllowedMethods: ['PUT'], AllowedHeaders: ['*'] }
    await bucket.client.send(
      new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration: { CORSRules: [rule] } }),
    )
  })
  afterAll(async () => {
    await browser.close()
    await bucket?.remove()
    if (!('reason' in radosgw)) await radosgw.stop()
  })

  describe('to radosgw', () => {
    let server: HttpServer
    let s3: ReturnType<typeof start>
    const start = ({ client, name }: DemoBucket) =>
      createS3Server({
        storage: s3Storage({ client }),
        bucket: name,
        plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ada' })],
      })
    beforeAll(async () => {
      if (!bucket) return
      s3 = start(bucket)
      const script = await clientScript
      const app = express()
      app.get('/', (_req, res) => void res.type('html').send(`<script type="module">${script}</script>`))
      app.use(expressBinding(s3))
      server = await startHttpServer((req, res) => void app(req, res))
    })
    afterAll(() => server?.stop())

    it.skipIf('reason' in radosgw).each(['127.0.0.1', PLAIN_HOST])(
      'at http://%s stores the file of the last call, byte for byte',
      async (host) => {
        const context = await openContext(browser)
        const page = await context.newPage()
        /** Which of the parts that are sent to hold, how many will be sent, and how many have arrived. */
        let plan: readonly number[] = []
        let [begun, signed, arrived] = [0, NaN, 0]
        await page.route(
          () => true,
          (route) => {
            const isHeld = route.request().method() === 'PUT' && plan.includes(begun++)
            return isHeld ? undefined : route.continue()
          },
        )
        page.on('response', (response) => {
          if (response.request().method() === 'PUT' && response.ok()) arrived++
          if (!response.url().endsWith('/multipart/parts')) return
          void response.json().then(({ parts }: { parts: unknown[] }) => (signed = parts.length))
        })
        const open = async () => {
          await page.goto(server.url.replace('127.0.0.1', host))
          await page.waitForFunction(() => 'client' in window)
        }
        await open()
        const isPlain = host === PLAIN_HOST
        expect(await page.evaluate(() => [!!crypto.subtle, 'locks' in navigator])).toEqual([
          !isPlain,
          !isPlain,
        ])
        await fc.assert(
          fc.asyncProperty(
            fc.array(cutOff, { minLength: 1, maxLength: 2 }),
            content,
            async (cutOffs, last) => {
              for (const { content: each, held } of cutOffs) {
                plan = held
                ;[begun, signed, arrived] = [0, NaN, 0]
                let isOver = false
                const call = upload(page, each).then(
                  () => (isOver = true),
                  () => (isOver = true),
                )
                const isCut = () => arrived === signed - held.filter((index) => index < signed).length
                await until(() => isOver || isCut())
                await open()
                await call
              }
              plan = []
              const key = await upload(page, last)
              const { body } = await s3.files.get({ key })
              const stored = Buffer.from(await new Response(body).arrayBuffer())
              expect(stored.equals(bytesOf(last))).toBe(true)
            },
          ),
          { numRuns: 3, endOnFailure: true },
        )
        await context.close()
      },
    )
  })
})
