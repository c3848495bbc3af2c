import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { findChromium } from './chromium.js'
import { openDemo, quoted, textFile, type DemoPage } from './demo-page.js'
import { useDemo } from './demo-suite.js'

const executablePath = await findChromium()

describe.skipIf(executablePath === null)('the demo in a browser', () => {
  const suite = useDemo(executablePath)
  let demo: DemoPage
  beforeEach(() => {
    demo = suite.demo
  })

  it('uploads several files at once with progress for each, then lists them', async () => {
    const { page } = demo
    await demo.usage('0 bytes of 25 MB')
    await demo.usage('0 of 40 files')
    const files = [textFile('one.txt', 300_000), textFile('two.txt', 400_000), textFile('three.txt', 500_000)]
    await page.evaluate(() => {
      const seen: Record<string, number[]> = {}
      const list = document.querySelector('#upload-list') as HTMLElement
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          if (target instanceof HTMLProgressElement) (seen[target.ariaLabel ?? ''] ??= []).push(target.value)
        }
      }).observe(list, { subtree: true, attributes: true, attributeFilter: ['value'] })
      Object.assign(window, { seenProgress: seen })
    })
    await demo.throttle(600_000)
    await demo.choose(...files)
    await page.getByText('uploading', { exact: false }).waitFor()
    await demo.uploaded()
    await demo.shows(files.map(({ name }) => name))
    await demo.usage('1.2 MB of 25 MB')
    await demo.usage('3 of 40 files')

    const seen = await page.evaluate<Record<string, number[]>>('seenProgress')
    for (const { name } of files) {
      const steps = seen[`Upload of ${name}`] ?? []
      expect(steps.some((step) => step > 0 && step < 1)).toBe(true)
      expect(steps).toEqual([...steps].sort((a, b) => a - b))
      expect(steps.at(-1)).toBe(1)
    }
  })

  it('cancels one upload without affecting the others', async () => {
    await demo.throttle(300_000)
    await demo.chooseLarge('big.bin', 9_000_000)
    await demo.choose(textFile('small.txt', 60_000))
    await demo.upload('big.bin').getByText('of 9 MB').waitFor()
    await demo.page.getByRole('button', { name: 'Cancel the upload of big.bin' }).click()
    await demo.upload('big.bin').waitFor({ state: 'detached' })
    await demo.uploaded()
    await demo.shows(['small.txt'])
    await demo.usage('60 kB of 25 MB')
    // The server holds no reservation for it either.
    const usage = await demo.page.evaluate<object>(
      'fetch("/api/s3/db/usage").then((response) => response.json())',
    )
    expect(usage).toMatchObject({ usage: { files: 1, reservedFiles: 0, reservedBytes: 0 } })
  })

  it('explains that the quota is exceeded, and uploads the file once there is space', async () => {
    await demo.chooseLarge('first.bin', 20_000_000)
    await demo.uploaded()
    await demo.chooseLarge('second.bin', 8_000_000)
    await demo
      .upload('second.bin')
      .getByText(
        `${quoted('second.bin')} needs 8 MB, but only 5 MB of your 25 MB is free. Delete files to make room.`,
      )
      .waitFor()
    await demo.chooseLarge('third.bin', 26_000_000)
    await demo
      .upload('third.bin')
      .getByText(`${quoted('third.bin')} is 26 MB, which is more than your quota of 25 MB.`)
      .waitFor()
    await demo.page.getByRole('button', { name: 'Dismiss third.bin' }).click()

    await demo.page.getByRole('button', { name: 'Delete first.bin' }).click()
    await demo.usage('0 bytes of 25 MB')
    // A retry deletes what could still be taken back.
    await demo.page.getByRole('button', { name: 'Retry second.bin' }).click()
    await demo.shows(['second.bin'])
    await demo.usage('8 MB of 25 MB')
  })

  it('downloads the same bytes under the same name', async () => {
    const name = 'Müller & Søn – 日本 😀 (1).bin'
    const buffer = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 256))
    await demo.choose({ name, mimeType: 'application/octet-stream', buffer })
    await demo.shows([name])
    const downloading = demo.page.waitForEvent('download')
    await demo.page.getByRole('button', { name: `Download ${name}` }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(name)
    expect(buffer.equals(await readFile(await download.path()))).toBe(true)
  })

  it('deletes a file after the time in which the user can undo it', async () => {
    const { page } = demo
    await demo.choose(textFile('keep.txt'), textFile('drop.txt'))
    await demo.uploaded()
    await page.getByRole('button', { name: 'Delete keep.txt' }).click()
    await demo.shows(['drop.txt'])
    await demo.usage('1 of 40 files')
    await page.locator('.toast', { hasText: 'keep.txt' }).getByRole('button', { name: 'Undo' }).click()
    await demo.shows(['keep.txt', 'drop.txt'])
    await demo.usage('2 of 40 files')

    await demo.delete('drop.txt')
    await demo.shows(['keep.txt'])
    await page.reload()
    await demo.shows(['keep.txt'])

    // Leaving the page deletes at once.
    await page.getByRole('button', { name: 'Delete keep.txt' }).click()
    await page.reload()
    await page.getByText('Nothing here yet').waitFor()
    await expect.poll(() => storedNames(page)).toEqual([])
  })

  it('shows each user only their own files', async () => {
    await demo.choose(textFile('of Ada.txt'))
    await demo.shows(['of Ada.txt'])
    const { key } = await demo.page.evaluate<{ key: string }>(
      'fetch("/api/s3/db/objects").then((response) => response.json()).then(({ objects }) => objects[0])',
    )

    await demo.switchTo('Grace')
    await demo.page.getByText('Nothing here yet').waitFor()
    await demo.usage('0 of 40 files')
    const download = `/api/s3/download?key=${encodeURIComponent(key)}`
    expect(await demo.page.evaluate(async (path) => (await fetch(path)).status, download)).toBe(404)
    await demo.choose(textFile('of Grace.txt'))
    await demo.shows(['of Grace.txt'])

    await demo.switchTo('Ada')
    await demo.shows(['of Ada.txt'])
    const another = await openDemo(suite.browser, suite.server.url)
    await another.shows(['of Ada.txt'])
  })

  it('tells the user to reload when the session has ended', async () => {
    await demo.page.context().clearCookies()
    await demo.choose(textFile('a.txt'))
    await demo.upload('a.txt').getByText('Your session has expired. Reload the page to continue.').waitFor()
  })
})

/** Returns the names of the files that the server lists. */
function storedNames(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { objects } = (await (await fetch('/api/s3/db/objects')).json()) as {
      objects: { filename: string }[]
    }
    return objects.map(({ filename }) => filename)
  })
}
