import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { POSTGRES } from '../servers/postgres.js'
import { freePort } from '../servers/private-server.js'
import { findChromium } from './chromium.js'
import { openDemoFolders, type DemoFolders } from './demo-folders.js'
import { openDemo, type DemoPage } from './demo-page.js'
import { startDemo, type DemoOptions } from './demo-server.js'

const executablePath = await findChromium()
const postgres = await findServer(POSTGRES)
if ('reason' in postgres) console.warn(`Skipped: the demo on PostgreSQL. There is ${postgres.reason}`)

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
  if (!('reason' in postgres)) await postgres.stop()
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
        await expectToFindAllAgain({ dataFolder: folders.fresh(), databaseUrl: database.url }, signal)
        const { rows } = await database.query(
          'SELECT scope, count(*)::int FROM svc_db.objects GROUP BY scope',
        )
        expect(rows).toEqual([{ scope: 'user:ada', count: 3 }])
      } finally {
        await database.drop()
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

  it('says which database it cannot reach, and keeps the password to itself', async () => {
    const server = `127.0.0.1:${await freePort()}`
    const databaseUrl = `postgres://ada:secret@${server}/files`
    const failure = await startDemo({ dataFolder: folders.fresh(), databaseUrl }).catch(String)
    expect(failure).toContain(`The demo can't run: Can't use the PostgreSQL server at ${server}/files:`)
    expect(failure).toContain('ECONNREFUSED')
    expect(failure).not.toContain('secret')
  })
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
