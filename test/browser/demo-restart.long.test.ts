import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import { freePort, type PrivateFolder } from '../servers/private-server.js'
import { findChromium } from './chromium.js'
import { demoFolder } from './demo-folders.js'
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

let folder: PrivateFolder
beforeAll(async () => {
  folder = await demoFolder()
})
afterAll(async () => {
  await folder.remove('SIGKILL')
  for (const server of [postgres, mongodb]) if (!('reason' in server)) await server.stop()
})

describe.skipIf(executablePath === null)('a restart of the demo', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '' })
  })
  afterAll(() => browser.close())

  it('keeps files and links on PGlite, and locks its data folder while it runs', async () => {
    const dataFolder = folder.path
    await expectToSurviveRestarts({ dataFolder }, async () => {
      await expect(startDemo({ dataFolder })).rejects.toThrow(`Another process uses ${dataFolder}`)
    })
  })

  it('keeps sessions, apart from those of a demo on another port', async () => {
    const first = { dataFolder: join(folder.path, 'first'), port: await freePort() }
    let server = await startDemo(first)
    const other = await startDemo({ dataFolder: join(folder.path, 'other') })
    const demo = await openDemo(browser, server.url)
    await demo.switchTo('Grace')
    await demo.page.getByText('Nothing here yet').waitFor()
    await demo.page.goto(other.url)
    await expect.poll(() => demo.page.getByRole('radio', { name: 'Ada' }).isChecked()).toBe(true)

    expect(await server.stop('SIGKILL')).toEqual({ code: null, complaints: '' })
    server = await startDemo(first)
    await demo.page.goto(server.url)
    await expect.poll(() => demo.page.getByRole('radio', { name: 'Grace' }).isChecked()).toBe(true)
    await demo.page.context().close()
    expect(demo.complaints).toEqual([])
    for (const running of [server, other]) expect(await running.stop()).toEqual({ code: 0, complaints: '' })
  })

  it.skipIf('reason' in postgres)('keeps files and links on PostgreSQL', async () => {
    if ('reason' in postgres) return
    const database = await createDatabase(postgres.url)
    try {
      const settings = { DATABASE_URL: database.url }
      await expectToSurviveRestarts({ dataFolder: join(folder.path, 'postgres'), settings })
      const { rows } = await database.query('SELECT scope, count(*)::int FROM svc_db.objects GROUP BY scope')
      expect(rows).toEqual([{ scope: 'user:ada', count: 4 }])
    } finally {
      await database.drop()
    }
  })

  it.skipIf('reason' in mongodb)('keeps files and links on MongoDB', async () => {
    if ('reason' in mongodb) return
    const url = new URL(mongodb.url)
    url.pathname = `/demo_${randomBytes(6).toString('hex')}`
    const client = new MongoClient(url.href)
    try {
      const settings = { MONGODB_URL: url.href }
      await expectToSurviveRestarts({ dataFolder: join(folder.path, 'mongodb'), settings })
      const keys = client.db().collection('svc_db_objects').find({ scope: 'user:ada' })
      expect(await keys.toArray()).toHaveLength(4)
    } finally {
      await client.db().dropDatabase()
      await client.close()
    }
  })

  /** Uploads files, then restarts the demo twice: after SIGTERM and after SIGKILL. */
  async function expectToSurviveRestarts(
    options: DemoOptions,
    whileRunning: () => Promise<void> = async () => {},
  ): Promise<void> {
    // The same port each time, because links contain it.
    const settings = { ...options, port: await freePort() }
    let server = await startDemo(settings)
    const demo = await openDemo(browser, server.url)
    await demo.choose(...FILES)
    await demo.uploaded()
    await whileRunning()
    const links = await linksOf(demo)

    const stored = FILES.map(({ name }) => name)
    for (const [signal, code] of [
      ['SIGTERM', 0],
      ['SIGKILL', null],
    ] as const) {
      expect(await server.stop(signal)).toEqual({ code, complaints: '' })
      server = await startDemo(settings)
      await expectFiles(demo, stored, links)
      const name = `after ${signal}.txt`
      await demo.choose({ name, mimeType: 'text/plain', buffer: Buffer.from('more') })
      stored.push(name)
      await demo.usage(`${stored.length} of 40 files`)
    }

    await demo.page.context().close()
    expect(await server.stop()).toEqual({ code: 0, complaints: '' })
    expect(demo.complaints).toEqual([])
  }

  async function expectFiles(
    demo: DemoPage,
    stored: readonly string[],
    links: Readonly<Record<string, string>>,
  ): Promise<void> {
    for (const { name, buffer } of FILES) {
      const bytes = Buffer.from(await (await fetch(links[name]!)).arrayBuffer())
      expect(buffer.equals(bytes)).toBe(true)
    }
    await demo.page.reload()
    await demo.shows(stored)
    await demo.usage('200 kB of 25 MB')
    const downloading = demo.page.waitForEvent('download')
    await demo.page.getByRole('button', { name: 'Download first.bin' }).click()
    const download = await (await downloading).path()
    expect(FILES[0]!.buffer.equals(await readFile(download))).toBe(true)
  }
})

/** Requests a download link for each file, as the page does. Returns the links by filename. */
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
