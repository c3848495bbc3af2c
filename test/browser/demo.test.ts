import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { privateFolder } from '../servers/private-server.js'
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

  it('uploads files dropped on the page', async () => {
    await demo.page.evaluate(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['a'], 'a.txt'))
      dataTransfer.items.add(new File(['b'], 'b.txt'))
      for (const type of ['dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
      }
    })
    await demo.shows(['a.txt', 'b.txt'])
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

  it('keeps the attachments of a note that is kept, and gives an end to those of others', async () => {
    const { page } = demo
    const ends = () =>
      page.evaluate(async () => {
        const { objects } = (await (await fetch('/api/s3/db/objects?route=attachments')).json()) as {
          objects: { filename: string; temporaryUntil?: string }[]
        }
        return Object.fromEntries(
          objects.map(({ filename, temporaryUntil }) => [filename, temporaryUntil ?? 'stays']),
        )
      })
    const attach = async (name: string) => {
      await page.setInputFiles('#note-chosen', [textFile(name)])
      await page.locator('#note-attached').getByText(name).waitFor()
    }
    await attach('kept.txt')
    expect(await ends()).toEqual({ 'kept.txt': expect.stringMatching(/^2/) as string })
    await page.getByRole('textbox', { name: 'Note' }).fill('Look!')
    await page.getByRole('button', { name: 'Keep the note' }).click()
    await page.locator('#note-list').getByText('Look! (1 file)').waitFor()
    await attach('left.txt')
    await page.reload()
    await page.locator('#note-list').getByText('Look! (1 file)').waitFor()
    expect(await ends()).toEqual({ 'kept.txt': 'stays', 'left.txt': expect.stringMatching(/^2/) as string })
    await page.getByText('Nothing here yet').waitFor()
  })

  it('shows what is being checked, and why it was refused, and opens what was accepted', async () => {
    const { page } = demo
    const board = page.locator('#board-list li')
    const put = (name: string) => page.setInputFiles('#board-chosen', [textFile(name, 5)])
    const item = (name: string) => board.filter({ hasText: name })
    for (const name of ['good.txt', 'bad.txt']) {
      await put(name)
      await item(name).getByText('Being checked').waitFor()
    }
    expect(await page.locator('#board-list [data-part=accept]:visible').count()).toBe(0)
    await page.reload()
    await item('bad.txt').getByText('Being checked').waitFor()
    await page.getByText('Nothing here yet').waitFor()
    expect(await page.locator('#unfinished').isVisible()).toBe(false)

    await demo.switchTo('Grace')
    const bytes = page.waitForEvent('download')
    await item('good.txt').getByText('Look').click()
    expect((await bytes).suggestedFilename()).toBe('good.txt')
    await page.getByRole('button', { name: 'Accept good.txt' }).click()
    await page.getByRole('button', { name: 'Refuse bad.txt' }).click()
    // Not the link of a file that waits, which leads to the bytes for the check.
    const link = await item('good.txt').locator('a[href^="/api/s3/file"]').getAttribute('href')
    await expect.poll(() => board.count()).toBe(1)
    expect(await page.evaluate(async (path) => (await fetch(path ?? '')).text(), link)).toBe('xxxxx')

    await demo.switchTo('Ada')
    await item('bad.txt').getByText('Grace refused it.').waitFor()
    await put('bad.txt')
    await page.getByText(`${quoted('bad.txt')} was refused. Grace refused it.`).waitFor()
    await page.getByRole('button', { name: 'Take good.txt off the board' }).click()
    await expect.poll(() => board.allTextContents()).toHaveLength(1)
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

  it('opens a shared file for another user by its link, and nothing else', async () => {
    const { page } = demo
    await demo.choose(textFile('notes.txt', 5), textFile('diary.txt', 5))
    await demo.shows(['notes.txt', 'diary.txt'])
    const hrefOf = (name: string) => demo.card(name).getByRole('link').getAttribute('href')
    const [shared, kept] = [await hrefOf('notes.txt'), await hrefOf('diary.txt')]
    const open = (href: string | null) =>
      page.evaluate(async (path) => {
        const response = await fetch(path)
        return [response.status, response.ok ? await response.text() : '']
      }, href ?? '')
    const toggle = (name: string) => demo.page.getByRole('button', { name: `Share ${name} by its link` })
    await toggle('notes.txt').click()
    await toggle('notes.txt').and(page.locator('[aria-pressed=true]')).waitFor()

    await demo.switchTo('Grace')
    await page.getByText('Nothing here yet').waitFor()
    expect(await open(shared)).toEqual([200, 'xxxxx'])
    expect(await open(kept)).toEqual([404, ''])
    await demo.shows([])

    await demo.switchTo('Ada')
    await demo.shows(['notes.txt', 'diary.txt'])
    expect(await toggle('diary.txt').getAttribute('aria-pressed')).toBe('false')
    await toggle('notes.txt').and(page.locator('[aria-pressed=true]')).click()
    await toggle('notes.txt').and(page.locator('[aria-pressed=false]')).waitFor()
    await demo.switchTo('Grace')
    await page.getByText('Nothing here yet').waitFor()
    expect(await open(shared)).toEqual([404, ''])
  })

  it('asks before switching the user cancels uploads', async () => {
    const { page } = demo
    await demo.throttle(200_000)
    await demo.chooseLarge('big.bin', 5_000_000)
    await demo.upload('big.bin').getByText('of 5 MB').waitFor()
    await demo.switchTo('Grace')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => page.getByRole('radio', { name: 'Ada' }).isChecked()).toBe(true)
    await demo.switchTo('Grace')
    await dialog.getByRole('button', { name: 'Switch' }).click()
    await expect.poll(() => page.getByRole('radio', { name: 'Grace' }).isChecked()).toBe(true)
    await demo.switchTo('Ada')
    await demo.usage('0 bytes of 25 MB')
    expect(await demo.names()).toEqual([])
  })

  it('shows a filename with markup as text', async () => {
    const name = '<img src=x onerror="window.harmed=1">.html'
    await demo.choose({
      name,
      mimeType: 'text/html',
      buffer: Buffer.from('<script>window.harmed=1</script>'),
    })
    await demo.shows([name])
    expect(await demo.page.locator('.file img').count()).toBe(0)
    expect(await demo.page.evaluate('window.harmed')).toBeUndefined()
  })

  it('supports keyboard use', async () => {
    const { page } = demo
    await demo.choose(textFile('a.txt'), textFile('b.txt'))
    await demo.uploaded()
    await page.getByRole('radio', { name: 'Ada' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('Nothing here yet').waitFor()
    await page.keyboard.press('ArrowLeft')
    await demo.shows(['a.txt', 'b.txt'])

    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Choose files')
    for (const reached of [
      /^Search by name$/,
      /^Sort by$/,
      /^Select [ab]\.txt$/,
      /^[ab]\.txt$/,
      /^Share [ab]\.txt by its link$/,
      /^Rename [ab]\.txt$/,
      /^Download [ab]\.txt$/,
      /^Delete [ab]\.txt$/,
    ]) {
      await page.keyboard.press('Tab')
      expect(await focused()).toMatch(reached)
    }
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await demo.names()).length).toBe(1)
    // The focus moves to the remaining file.
    expect(await focused()).toMatch(/^Delete [ab]\.txt$/)

    function focused(): Promise<string> {
      return page.evaluate(
        () => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? '',
      )
    }
  })

  it('tells the user to reload when the session has ended', async () => {
    await demo.page.context().clearCookies()
    await demo.choose(textFile('a.txt'))
    await demo.upload('a.txt').getByText('Your session has expired. Reload the page to continue.').waitFor()
  })

  it('explains that the code for uploads is missing, and that a file has changed on disk', async () => {
    const { page } = demo
    await page.route(/assets\/upload-/, (route) => route.abort())
    // The page has loaded it to settle uploads.
    await page.reload()
    await demo.choose(textFile('a.txt'))
    await demo.upload('a.txt').getByText('A part of this page couldn’t be loaded.').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Retry a.txt' }).click()
    await demo.shows(['a.txt'])

    const folder = await privateFolder('demo-files', null)
    onTestFinished(() => folder.remove('SIGKILL'))
    const log = join(folder.path, 'log.txt')
    await writeFile(log, 'one')
    await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<input type="file" id="log">'))
    await page.setInputFiles('#log', log)
    // Until it is read for the first time, a browser may not have noted its size.
    await page.locator('#log').evaluate((input: HTMLInputElement) => input.files![0]!.text())
    await writeFile(log, 'one and more')
    await page.locator('#chosen').evaluate((input: HTMLInputElement) => {
      input.files = document.querySelector<HTMLInputElement>('#log')!.files
      input.dispatchEvent(new Event('change'))
    })
    await demo.upload('log.txt').getByText('can’t be read.').waitFor()
    expect(await page.getByRole('button', { name: 'Retry log.txt' }).count()).toBe(0)
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
