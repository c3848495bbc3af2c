import { describe, expect, it } from 'vitest'
import { openWindow, textFile } from './demo-page.js'
import type { DemoSuite } from './demo-suite.js'

export function fileTests(suite: DemoSuite): void {
  describe('files', () => {
    it('are renamed, and keep their extension unless the user changes it', async () => {
      const { demo } = suite
      const { page } = demo
      await demo.choose(textFile('draft.txt', 5))
      await demo.shows(['draft.txt'])
      await page.getByRole('button', { name: 'Rename draft.txt' }).click()
      await page.keyboard.type('final')
      await page.keyboard.press('Enter')
      await demo.shows(['final.txt'])
      await page.reload()
      await demo.shows(['final.txt'])
      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download final.txt' }).click()
      expect((await downloading).suggestedFilename()).toBe('final.txt')

      await page.getByRole('button', { name: 'Rename final.txt' }).click()
      await page.keyboard.type('other')
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await demo.shows(['final.txt'])
    })

    it('are put into an album, which the server keeps beside what it has written itself', async () => {
      const { demo } = suite
      const { page } = demo
      await demo.choose(textFile('beach.txt', 5))
      await demo.shows(['beach.txt'])
      await page.getByRole('button', { name: 'Share beach.txt by its link' }).click()
      await page.getByRole('button', { name: 'Rename beach.txt' }).click()
      await page.getByLabel('Album').fill('Summer')
      await page.keyboard.press('Enter')
      await demo.card('beach.txt').getByText('· Summer').waitFor()
      await page.reload()
      await demo.card('beach.txt').getByText('· Summer').waitFor()
      expect(
        await page.getByRole('button', { name: 'Share beach.txt by its link' }).getAttribute('aria-pressed'),
      ).toBe('true')
    })

    it('open by a click on the picture or the name', async () => {
      const { demo } = suite
      await demo.choose(textFile('notes.txt', 5))
      await demo.shows(['notes.txt'])
      for (const part of ['open', 'name']) {
        const opening = demo.page.waitForEvent('popup')
        await demo.card('notes.txt').locator(`[data-part=${part}]`).click()
        const opened = await opening
        await opened.getByText('xxxxx').waitFor()
        await opened.close()
      }
    })

    it('are deleted together, and come back together', async () => {
      const { demo } = suite
      const { page } = demo
      const names = ['a.txt', 'b.txt', 'c.txt']
      await demo.choose(...names.map((name) => textFile(name)))
      await demo.shows(names)
      await page.getByRole('checkbox', { name: 'Select a.txt' }).check()
      await page.getByText('1 file selected').waitFor()
      await page.getByRole('button', { name: 'Select all' }).click()
      await page.getByRole('checkbox', { name: 'Select c.txt' }).uncheck()
      await page.getByText('2 files selected').waitFor()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await demo.shows(['c.txt'])
      await demo.usage('1 of 40 files')
      await page
        .locator('.toast', { hasText: 'Deleted 2 files.' })
        .getByRole('button', { name: 'Undo' })
        .click()
      await demo.shows(names)
      await demo.usage('3 of 40 files')
    })

    it('are searched and sorted, also those that were not loaded yet', async () => {
      const { demo } = suite
      const { page } = demo
      const numbers = Array.from({ length: 14 }, (_, index) => index + 1)
      await demo.choose(...numbers.map((number) => textFile(`report ${number}.txt`, number)))
      await demo.uploaded()
      await page.reload()
      await expect.poll(async () => (await demo.names()).length).toBe(12)
      await page.getByLabel('Sort by').selectOption('By name')
      const byName = numbers.map((number) => `report ${number}.txt`)
      await expect.poll(() => demo.names()).toEqual(byName)
      await page.getByLabel('Sort by').selectOption('Largest first')
      await expect.poll(() => demo.names()).toEqual([...byName].reverse())
      await page.getByLabel('Search by name').fill('REPORT 1.')
      await expect.poll(() => page.locator('#file-list .file:visible').count()).toBe(1)
      await page.getByLabel('Search by name').fill('nothing')
      await page.getByText('No file has').waitFor()
    })

    it('show control characters in their names', async () => {
      const { demo } = suite
      await demo.choose(textFile('photo\u202Egnp.exe'))
      await demo.shows(['photo\ufffdgnp.exe'])
      await demo.card('photo\ufffdgnp.exe').getByText('EXE', { exact: true }).waitFor()
      await demo.page.locator('.toast', { hasText: 'Uploaded 1 file.' }).waitFor()
    })

    it('appear, change and go in other windows too', async () => {
      const { demo } = suite
      const other = await openWindow(demo)
      await demo.choose(textFile('a.txt'), textFile('b.txt'))
      await other.shows(['a.txt', 'b.txt'])
      await other.usage('2 of 40 files')
      await other.delete('a.txt')
      await demo.shows(['b.txt'])
      await demo.usage('1 of 40 files')
    })

    it('that no longer exist go away when the user does something with them', async () => {
      const { demo } = suite
      const { page } = demo
      await demo.choose(textFile('a.txt'))
      await demo.shows(['a.txt'])
      // The page doesn't hear of this.
      await page.evaluate(async () => {
        const { objects } = (await (await fetch('/api/s3/db/objects')).json()) as {
          objects: { key: string }[]
        }
        await fetch(`/api/s3/object?key=${encodeURIComponent(objects[0]!.key)}`, { method: 'DELETE' })
      })
      await page.getByRole('button', { name: 'Share a.txt by its link' }).click()
      await page.getByText('no longer exists').waitFor()
      await demo.shows([])
      await demo.usage('0 of 40 files')
    })

    it('come with what the library did for them', async () => {
      const { demo } = suite
      const { page } = demo
      await page.getByText('What happened').click()
      await demo.choose(textFile('a.txt', 2000))
      await demo.chooseLarge('huge.bin', 26_000_000)
      const entry = (kind: string, text: string) =>
        page.locator(`.entry[data-kind=${kind}]`, { hasText: text }).first()
      await entry('reserved', '2 kB for').waitFor()
      await entry('reserved', 'With it, 2 kB of 25 MB are taken.').waitFor()
      await entry('confirmed', 'is in the bucket with 2 kB').waitFor()
      await entry('event', 'was delivered to the event handler').waitFor()
      await entry('refused', 'QUOTA_EXCEEDED').waitFor()
      await entry('confirmed', 'a.txt').getByText('Record').click()
      await entry('confirmed', 'a.txt').getByText('"scope": "user:ada"').waitFor()
      await demo.switchTo('Grace')
      await page.getByText('Nothing here yet').waitFor()
      await expect.poll(() => page.locator('.entry', { hasText: 'a.txt' }).count()).toBe(0)
    })

    it('are uploaded if they are dropped on the page', async () => {
      const { demo } = suite
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

    it('open for another user by their link if they are shared, and not otherwise', async () => {
      const { demo } = suite
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

    it('show markup in their names as text', async () => {
      const { demo } = suite
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
  })
}
