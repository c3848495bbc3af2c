import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createS3Client } from '@svc/db/client'
import { expect } from 'vitest'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { until } from '../../until.js'
import { dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'

/** A folder and a schema for the program `service.ts`, and what a test does with it from outside. */
export async function placeOfService(url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-shutdown-'))
  const schema = freshSchema()
  const pool = poolOf(url)
  const lines = () =>
    existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8').split('\n') : []
  const noted = (line: string) => until(() => lines().includes(line))

  // What the first clean-up finds.
  const now = new Date(Date.now() - 86_400_000)
  const yesterday = postgresAdapter(pool, { schema, events: true, now: () => now })
  await yesterday.migrate()
  const expired = { scope: 'ann', bucket: 'uploads', key: 'expired', storageKey: 'expired', declaredSize: 1 }
  await yesterday.reserve({ ...expired, expiresAt: new Date(now.getTime() + 1000) })

  return {
    environment: { FOLDER: folder, SCHEMA: schema, DATABASE_URL: url },
    lines,
    noted,
    async origin() {
      await until(() => lines().some((line) => line.startsWith('listening ')))
      return `http://127.0.0.1:${
        lines()
          .find((line) => line.startsWith('listening '))!
          .split(' ')[1]!
      }`
    },
    /** Lets what is slow go on. */
    goOn: () => writeFileSync(join(folder, 'go on'), ''),
    async remove() {
      await dropSchema(pool, schema)
      await pool.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type PlaceOfService = Awaited<ReturnType<typeof placeOfService>>

/** Brings a service into the middle of everything that takes time. Returns a function that lets all of it end, and checks that it did. */
export async function busyService(place: PlaceOfService) {
  const origin = await place.origin()
  const { api } = createS3Client({ baseURL: origin, plugins: [] })
  await place.noted('clean-up began')
  await api.upload(new File(['hello'], 'first.txt'))
  await place.noted('activated first.txt began')
  const slowRequest = fetch(`${origin}/slow`).then((response) => response.text())
  await place.noted('request began')
  const half = await halfOfPut(origin)

  return async () => {
    await half.finish()
    place.goOn()
    expect(await slowRequest).toBe('done')
  }
}

/** Begins an upload and sends half of its bytes. */
async function halfOfPut(origin: string) {
  const begun = await fetch(`${origin}/api/s3/upload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'second.txt', contentType: 'text/plain', size: 10 }),
  })
  const { upload } = (await begun.json()) as {
    upload: { url: string; method: string; headers: Record<string, string> }
  }
  const put = request(upload.url, {
    method: upload.method,
    headers: { ...upload.headers, 'content-length': 10 },
  })
  const status = new Promise<number | undefined>((resolve, reject) => {
    put.on('response', (response) => resolve(response.resume().statusCode))
    put.on('error', reject)
  })
  await new Promise((resolve) => put.write('hello', resolve))
  return {
    async finish() {
      put.end('world')
      expect(await status).toBe(200)
    },
  }
}

/** The lines of everything that was in progress, once the service has stopped. */
export const ENDED = [
  'clean-up ended',
  'activated first.txt ended',
  'request ended',
  'cleanUp ran',
  'stopped',
]
