import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Browser } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../servers/private-server.js'
import { demoFolder } from './demo-folders.js'
import { openDemo, type DemoPage } from './demo-page.js'
import { startDemo, type DemoOptions } from './demo-server.js'

const FILES = ['first.bin', 'second.bin'].map((name) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: randomBytes(100_000),
}))

export function restartTests(browser: () => Browser, signals: readonly EndSignal[]): void {
  it('keeps files and links on PGlite after a restart', async () => {
    const folder = await demoFolder()
    onTestFinished(() => folder.remove('SIGKILL'))
    await expectToSurviveRestarts(browser(), { dataFolder: folder.path }, signals)
  })
}

export type EndSignal = 'SIGTERM' | 'SIGKILL'

/** Uploads files, then restarts the demo after each signal. */
export async function expectToSurviveRestarts(
  browser: Browser,
  options: DemoOptions,
  signals: readonly EndSignal[],
): Promise<void> {
  // The same port each time, because links contain it.
  const settings = { ...options, port: await freePort() }
  let server = await startDemo(settings)
  const demo = await openDemo(browser, server.url)
  await demo.choose(...FILES)
  await demo.uploaded()
  const links = await linksOf(demo)

  const stored = FILES.map(({ name }) => name)
  for (const signal of signals) {
    const code = signal === 'SIGKILL' ? null : 0
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
