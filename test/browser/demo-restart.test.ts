import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { MongoClient } from 'mongodb'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import { freePort } from '../servers/private-server.js'
import { findChromium } from './chromium.js'
import { openDemoFolders, type DemoFolders } from './demo-folders.js'
import { openDemo, type DemoPage } from './demo-page.js'
import { startDemo, type DemoOptions } from './demo-server.js'

const executablePath = await findChromium()
const [postgres, mongodb] = await Promise.all([findServer(POSTGRES), findServer(MONGODB)])
if ('reason' in postgres) console.warn(`Skipped: the demo on PostgreSQL. There is ${postgres.reason}`)
if ('reason' in mongodb) console.warn(`Skipped: the demo on MongoDB. There is ${mongodb.reason}`)

const FILES = ['first.bin', 'second.bin'].map((name) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: randomBytes(100_000),
}))

let folders: DemoFolders
beforeAll(async () => {
  folders = await openDemoFolders()
})
afterAll(async () => {
  await folders.remove()
  for (const server of [postgres, mongodb]) if (!('reason' in server)) await server.stop()
})

describe.skipIf(executablePath === null)('after a restart of the demo', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '' })
  })
  afterAll(() => browser.close())

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'list, bytes and links are there again (%s, on PGlite)',
    async (signal) => {
      await expectToFindAllAgain({ dataFolder: folders.fresh() }, signal)
    },
  )

  it.skipIf('reason' in postgres).each(['SIGTERM', 'SIGKILL'] as const)(
    'list, bytes and links are there again (%s, on PostgreSQL)',
    async (signal) => {
      if ('reason' in postgres) return
      const database = await createDatabase(postgres.url)
      try {
        const settings = { DATABASE_URL: database.url }
        await expectToFindAllAgain({ dataFolder: folders.fresh(), settings }, signal)
        const { rows } = await database.query(
          'SELECT scope, count(*)::int FROM svc_db.objects GROUP BY scope',
        )
        expect(rows).toEqual([{ scope: 'user:ada', count: 3 }])
      } finally {
        await database.drop()
      }
    },
  )

  it.skipIf('reason' in mongodb).each(['SIGTERM', 'SIGKILL'] as const)(
    'list, bytes and links are there again (%s, on MongoDB)',
    async (signal) => {
      if ('reason' in mongodb) return
      const url = new URL(mongodb.url)
      url.pathname = `/demo_${randomBytes(6).toString('hex')}`
      const client = new MongoClient(url.href)
      try {
        const settings = { MONGODB_URL: url.href }
        await expectToFindAllAgain({ dataFolder: folders.fresh(), settings }, signal)
        const keys = client.db().collection('svc_db_objects').find({ scope: 'user:ada' })
        expect(await keys.toArray()).toHaveLength(3)
      } finally {
        await client.db().dropDatabase()
        await client.close()
      }
    },
  )

  async function expectToFindAllAgain(options: DemoOptions, signal: NodeJS.Signals): Promise<void> {
    // The same port, which is part of each link.
    const settings = { ...options, port: await freePort() }
    const before = await startDemo(settings)
    const demo = await openDemo(browser, before.url)
    await demo.choose(...FILES)
    await demo.uploaded()
    const links = await linksOf(demo)
    expect(await before.stop(signal)).toEqual({ code: signal === 'SIGKILL' ? null : 0, complaints: '' })

    const after = await startDemo(settings)
    for (const { name, buffer } of FILES) {
      const bytes = Buffer.from(await (await fetch(links[name]!)).arrayBuffer())
      expect(buffer.equals(bytes)).toBe(true)
    }
    await demo.page.reload()
    await demo.shows(FILES.map(({ name }) => name))
    await demo.usage('200 kB of 25 MB')
    const downloading = demo.page.waitForEvent('download')
    await demo.page.getByRole('button', { name: 'Download first.bin' }).click()
    const download = await (await downloading).path()
    expect(FILES[0]!.buffer.equals(await readFile(download))).toBe(true)
    await demo.choose({ name: 'third.txt', mimeType: 'text/plain', buffer: Buffer.from('more') })
    await demo.usage('3 of 40 files')

    await demo.page.context().close()
    expect(await after.stop()).toEqual({ code: 0, complaints: '' })
    expect(demo.complaints).toEqual([])
  }
})

describe('a demo', () => {
  it('does not open the folder of another one that runs', async () => {
    const dataFolder = folders.fresh()
    const first = await startDemo({ dataFolder })
    await expect(startDemo({ dataFolder })).rejects.toThrow(`another process uses ${dataFolder}`)
    expect(await first.stop()).toEqual({ code: 0, complaints: '' })
    const next = await startDemo({ dataFolder })
    expect(await next.stop()).toEqual({ code: 0, complaints: '' })
  })

  it.each([
    {
      place: 'the PostgreSQL server at HOST/files:',
      settings: (host: string) => ({ DATABASE_URL: `postgres://ada:secret@${host}/files` }),
    },
    {
      place: 'the MongoDB replica set at HOST, database files:',
      settings: (host: string) => ({ MONGODB_URL: `mongodb://ada:secret@${host}/files` }),
    },
    {
      place: 'the bucket files at http://HOST:',
      settings: (host: string) => ({
        S3_ENDPOINT: `http://${host}`,
        S3_BUCKET: 'files',
        AWS_ACCESS_KEY_ID: 'ada',
        AWS_SECRET_ACCESS_KEY: 'secret',
      }),
    },
  ])('says that it cannot reach $place and keeps the password to itself', async ({ place, settings }) => {
    const host = `127.0.0.1:${await freePort()}`
    const failure = await failureOf(settings(host))
    expect(failure).toContain(`The demo can't run: Can't use ${place.replace('HOST', host)}`)
    expect(failure).toContain('ECONNREFUSED')
    expect(failure).not.toContain('secret')
  })

  it('says which settings make no sense', async () => {
    const urls = { DATABASE_URL: 'postgres://h/files', MONGODB_URL: 'mongodb://ada:secret@h/files' }
    expect(await failureOf(urls)).toContain('DATABASE_URL and MONGODB_URL are both set')
    expect(await failureOf({ S3_BUCKET: 'files' })).toContain('S3_ENDPOINT and S3_BUCKET must be set both')
    const misspelt = await failureOf({ MONGODB_URL: 'mongo://ada:secret@h/files' })
    expect(misspelt).toContain('MONGODB_URL must be like mongodb://')
    const withCredentials = await failureOf({ S3_BUCKET: 'files', S3_ENDPOINT: 'http://ada:secret@h' })
    expect(withCredentials).toContain('S3_ENDPOINT must hold no credentials')
    for (const failure of [misspelt, withCredentials]) expect(failure).not.toContain('secret')
  })

  function failureOf(settings: DemoOptions['settings']): Promise<string> {
    const started = startDemo({ dataFolder: folders.fresh(), settings: settings ?? {} })
    return started.then(() => 'It runs.', String)
  }
})

/** A link to each file by its name, as the page asks for it. */
function linksOf(demo: DemoPage): Promise<Record<string, string>> {
  return demo.page.evaluate(async () => {
    const json = async (path: string) => (await fetch(path)).json() as Promise<unknown>
    const { objects } = (await json('/api/s3/db/objects')) as { objects: { key: string; filename: string }[] }
    const links: Record<string, string> = {}
    for (const { key, filename } of objects) {
      const { url } = (await json(`/api/s3/download?key=${encodeURIComponent(key)}`)) as { url: string }
      links[filename] = url
    }
    return links
  })
}
