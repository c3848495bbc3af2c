import { readFile } from 'node:fs/promises'
import { createS3Server, db } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { startHttpServer, type HttpServer } from '../servers/http-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { findChromium, openContext, useBrowser } from './chromium.js'
import { openBucket, type DemoBucket } from './demo-bucket.js'

/** Bytes of the recording: more than a player loads before it plays. */
const SIZE = 128 * 1024 ** 2
const BYTES_PER_SECOND = 192_000
/** 211 bytes, and five times as many characters in the URL of a download. */
const FILENAME = `${'Запись '.repeat(16)}.wav`

const executablePath = await findChromium()
const radosgw = await findServer(RADOSGW)
if ('reason' in radosgw) console.warn(`Skipped: recordings in a bucket. There is ${radosgw.reason}`)

describe.skipIf(executablePath === null || 'reason' in radosgw)('a recording behind /file', () => {
  const browser = useBrowser(executablePath)
  let bucket: DemoBucket
  let server: HttpServer
  beforeAll(async () => {
    if ('reason' in radosgw) return
    bucket = await openBucket(radosgw.url)
    const s3 = createS3Server({
      storage: s3Storage({ client: bucket.client }),
      bucket: bucket.name,
      plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ada' })],
      download: {
        expiresIn: ({ contentType }) => (contentType === 'audio/wav' ? 600 : 1),
        maxExpiresIn: 600,
      },
    })
    const silence = new Blob([wavHeader(), new Uint8Array(SIZE)])
    await s3.files.put({
      key: 'talk',
      scope: 'ada',
      filename: FILENAME,
      contentType: 'audio/wav',
      body: silence,
    })
    await s3.files.put({ key: 'note', scope: 'ada', contentType: 'text/plain', body: new Blob(['a note']) })
    const app = express()
    app.get(
      '/',
      (_req, res) =>
        void res.send('<!doctype html><audio src="/api/s3/file?key=talk&amp;disposition=inline"></audio>'),
    )
    app.use(expressBinding(s3))
    server = await startHttpServer((req, res) => void app(req, res))
  })
  afterAll(async () => {
    if ('reason' in radosgw) return
    await server.stop()
    await bucket.remove()
    await radosgw.stop()
  })

  async function newPage() {
    const context = await openContext(browser())
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(server.url)
    return page
  }

  it('can be sought in after the URLs of other objects have expired', async () => {
    const page = await newPage()
    const note = await fetch(`${server.url}/api/s3/file?key=note`, { redirect: 'manual' })
    const audio = page.locator('audio')
    await audio.evaluate(
      (element: HTMLAudioElement) =>
        new Promise<void>((resolve) => {
          if (element.readyState >= element.HAVE_METADATA) resolve()
          element.addEventListener('loadedmetadata', () => resolve())
        }),
    )
    await expect
      .poll(async () => (await fetch(note.headers.get('location') ?? '')).status, { timeout: 0 })
      .toBe(403)

    const statuses: number[] = []
    page.on('response', (response) => void statuses.push(response.status()))
    const end = await audio.evaluate(
      (element: HTMLAudioElement) =>
        new Promise<number | string>((resolve) => {
          element.addEventListener('seeked', () => resolve(element.currentTime))
          element.addEventListener('error', () => resolve(element.error?.message ?? 'error'))
          element.currentTime = element.duration - 1
        }),
    )
    expect(end).toBeCloseTo(SIZE / BYTES_PER_SECOND - 1, 0)
    expect(new Set(statuses)).toEqual(new Set([206]))
  })

  it('is saved under its name, which is cut, with its extension', async () => {
    const page = await newPage()
    const downloading = page.waitForEvent('download')
    await page.evaluate(() => {
      const link = document.createElement('a')
      link.href = '/api/s3/file?key=talk'
      link.click()
    })
    const download = await downloading
    expect(download.suggestedFilename()).toMatch(/^Запись .*\.wav$/)
    expect((await readFile(await download.path())).length).toBe(44 + SIZE)
  })
})

/** Returns the header of a WAV file: stereo, 48 kHz, 16 bits. */
function wavHeader() {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + SIZE, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(2, 22)
  header.writeUInt32LE(48_000, 24)
  header.writeUInt32LE(BYTES_PER_SECOND, 28)
  header.writeUInt16LE(4, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(SIZE, 40)
  return header
}
