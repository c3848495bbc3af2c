import type * as clientExports from '@svc/db/client'
import { PutBucketCorsCommand, S3Client } from '@aws-sdk/client-s3'
import { createS3Server, db } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tcpRelay } from '../integration/drivers/tcp-relay.js'
import { describeSkipped } from '../servers/describe-with-server.js'
import { findServer } from '../servers/found-server.js'
import { startHttpServer } from '../servers/http-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium, openContext, useBrowser } from './chromium.js'
import { clientScript } from './client-page.js'
import { openBucket } from './demo-bucket.js'

declare global {
  interface Window {
    client: typeof clientExports
  }
}

const executablePath = await findChromium()
const radosgw = await findServer(RADOSGW)
/** Two parts. */
const LARGE = 16 * 1024 ** 2

if (executablePath === null) describeSkipped('a bucket with a public address', 'no Chromium')
else if ('reason' in radosgw) describeSkipped('a bucket with a public address', radosgw.reason)
else {
  describe('a bucket that browsers reach at another address than the server', () => {
    const browser = useBrowser(executablePath)

    it('takes their uploads and parts, and serves downloads and GET /file', async () => {
      const bucket = await openBucket(radosgw.url)
      onTestFinished(() => bucket.remove().then(() => radosgw.stop()))
      // The pages can only connect to this one.
      const relay = await tcpRelay(
        () => new URL(radosgw.url),
        ({ client, server }) => void client.pipe(server).pipe(client),
      )
      onTestFinished(() => relay.close())
      const publicOrigin = `http://localhost:${relay.port}`
      const { config } = bucket.client
      const publicClient = new S3Client({
        ...{ endpoint: publicOrigin, region: 'us-east-1', forcePathStyle: true },
        credentials: config.credentials,
      })
      onTestFinished(() => publicClient.destroy())
      const CORSConfiguration = {
        CORSRules: [{ AllowedOrigins: ['*'], AllowedMethods: ['PUT', 'GET'], AllowedHeaders: ['*'] }],
      }
      await bucket.client.send(new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration }))

      const s3 = createS3Server({
        storage: s3Storage({ client: bucket.client, publicClient }),
        bucket: bucket.name,
        plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ada' })],
      })
      const script = await clientScript
      const app = express().use(expressBinding(s3))
      app.get('/', (_req, res) => {
        const policy = `default-src 'self' 'unsafe-inline'; connect-src 'self' ${publicOrigin}; img-src 'self' ${publicOrigin}`
        res.setHeader('content-security-policy', policy)
        res.type('html').send(`<script type="module">${script}</script>`)
      })
      const server = await startHttpServer((req, res) => void app(req, res))
      onTestFinished(() => server.stop())
      const context = await openContext(browser())
      onTestFinished(() => context.close())
      const page = await context.newPage()
      const requested = new Set<string>()
      page.on('request', (request) => requested.add(new URL(request.url()).origin))
      await page.goto(server.url)
      await page.waitForFunction(() => 'client' in window)

      const read = await page.evaluate(async (large) => {
        const { api } = window.client.createS3Client({ plugins: [window.client.dbClient()] })
        const sizes: number[] = []
        for (const size of [3, large]) {
          const { key } = await api.upload(new File([new Uint8Array(size).fill(7)], 'a.bin'))
          const download = await fetch((await api.download({ key })).url)
          const file = await fetch(api.fileURL({ key }))
          for (const response of [download, file]) sizes.push((await response.arrayBuffer()).byteLength)
        }
        return sizes
      }, LARGE)
      expect(read).toEqual([3, 3, LARGE, LARGE])
      expect([...requested].sort()).toEqual([publicOrigin, server.url].sort())
    })
  })
}
