import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createS3Server, db, memoryStorage, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shortLineTo } from '../servers/short-line.js'
import { findServer } from '../servers/found-server.js'
import { startHttpServer } from '../servers/http-server.js'
import { RADOSGW } from '../servers/radosgw.js'
import { clientScript } from './client-page.js'
import { openBucket } from './demo-bucket.js'
import { describeInEngines } from './engines/engines.js'
import { untilLoaded } from './engines/session.js'

const SIZE = 50_000_000
/** A low rate, because players load some seconds ahead. */
const BYTES_PER_SECOND = 8000
/** How many bytes a connection carries, because a busy browser stops late. More than the last twentieth, to which the test seeks. */
const READ_AHEAD = 4_000_000

const radosgw = await findServer(RADOSGW)
afterAll(async () => {
  if (!('reason' in radosgw)) await radosgw.stop()
})

interface Film {
  /** A page with the client, whose server has the film. */
  readonly url: string
  /** Bytes that the server of the film has sent. */
  readonly carried: () => number
  readonly stop: () => Promise<void>
}

/** Starts a server with a film in a storage. */
async function showFilm(storage: ObjectStorage, bucket: string) {
  const s3 = createS3Server({
    storage,
    bucket,
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ada' })],
  })
  const body = new Blob([wavHeader(), new Uint8Array(SIZE)])
  await s3.files.put({ key: 'film', scope: 'ada', contentType: 'audio/wav', body })
  const script = await clientScript
  const app = express()
  app.get('/', (_req, res) => void res.type('html').send(`<script type="module">${script}</script>`))
  app.use(expressBinding(s3))
  return startHttpServer((req, res) => void app(req, res))
}

/** The server itself sends the bytes. */
async function filmOfServer(storage: ObjectStorage): Promise<Film> {
  const server = await showFilm(storage, 'files')
  const line = await shortLineTo(server.url, READ_AHEAD)
  const stop = async () => {
    await line.stop()
    await server.stop()
  }
  return { url: line.url, carried: line.carried, stop }
}

async function filmOnDisk(): Promise<Film> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-db-seeking-'))
  const film = await filmOfServer(diskStorage({ directory }))
  const stop = async () => {
    await film.stop()
    await rm(directory, { recursive: true })
  }
  return { ...film, stop }
}

async function filmInBucket(): Promise<Film> {
  if ('reason' in radosgw) throw new Error(radosgw.reason)
  const line = await shortLineTo(radosgw.url, READ_AHEAD)
  const { username, password } = new URL(radosgw.url)
  const bucket = await openBucket(line.url.replace('//', `//${username}:${password}@`))
  const server = await showFilm(s3Storage({ client: bucket.client }), bucket.name)
  const stop = async () => {
    await server.stop()
    await bucket.remove()
    await line.stop()
  }
  return { url: server.url, carried: line.carried, stop }
}

const storages = [
  ['memoryStorage', () => filmOfServer(memoryStorage())],
  ['diskStorage', filmOnDisk],
  ["Ceph's gateway", filmInBucket],
] as const

await describeInEngines('a <video> of 50 MB', (engine) => {
  // One after another, because each film is held in memory.
  describe.sequential.each(storages)('on %s', (name, start) => {
    const isMissing = name === "Ceph's gateway" && 'reason' in radosgw
    let film: Film
    beforeAll(async () => {
      if (!isMissing) film = await start()
    })
    afterAll(() => film?.stop())

    it.skipIf(isMissing)(
      'seeks into the last tenth without loading what lies between',
      async ({ onTestFinished }) => {
        const profile = await engine().openProfile()
        onTestFinished(() => profile.close())
        const tab = await profile.openTab(film.url)
        await untilLoaded(tab)
        const shown = await tab.evaluate(async () => {
          const video = document.createElement('video')
          const happens = (event: string) =>
            new Promise<void>((resolve, reject) => {
              video.addEventListener(event, () => resolve(), { once: true })
              video.addEventListener('error', () => reject(new Error(`${event}: ${video.error?.message}`)))
            })
          const { api } = window.client.createS3Client({ plugins: [] })
          Object.assign(video, { preload: 'metadata', muted: true })
          video.src = api.fileURL({ key: 'film', disposition: 'inline' })
          const loaded = happens('loadedmetadata')
          document.body.append(video)
          await loaded
          const sought = happens('seeked')
          video.currentTime = video.duration * 0.95
          await sought
          return { duration: video.duration, at: video.currentTime, end: video.seekable.end(0) }
        })
        const duration = SIZE / BYTES_PER_SECOND
        expect(shown.duration).toBeCloseTo(duration, 0)
        expect(shown.end).toBeCloseTo(duration, 0)
        expect(shown.at).toBeCloseTo(duration * 0.95, 0)
        expect(film.carried()).toBeLessThan(SIZE / 2)
      },
    )
  })
})

/** Returns the header of a WAV file: mono, 8 kHz, 8 bits. */
function wavHeader() {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + SIZE, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(BYTES_PER_SECOND, 24)
  header.writeUInt32LE(BYTES_PER_SECOND, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write('data', 36)
  header.writeUInt32LE(SIZE, 40)
  return header
}
