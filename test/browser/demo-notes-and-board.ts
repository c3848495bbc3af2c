import { describe, expect, it } from 'vitest'
import { quoted, textFile } from './demo-page.js'
import type { DemoSuite } from './demo-suite.js'

export function noteAndBoardTests(suite: DemoSuite): void {
  describe('notes and the board', () => {
    it('keeps the attachments of a note that is kept, and gives an end to those of others', async () => {
      const { demo } = suite
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
      const { demo } = suite
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
  })
}
