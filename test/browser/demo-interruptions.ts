import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { privateFolder, type PrivateFolder } from '../servers/private-server.js'
import { openWindow, textFile } from './demo-page.js'
import type { DemoSuite } from './demo-suite.js'
import { writeRandomFile } from './large-files.js'

/** Above 16 MiB, from which the client uploads in parts. */
const IN_PARTS = 18_000_000

export function interruptionTests(suite: DemoSuite): void {
  describe('interruptions', () => {
    let folder: PrivateFolder
    let film: string
    beforeAll(async () => {
      folder = await privateFolder('demo-files', null)
      film = join(folder.path, 'film.bin')
      await writeRandomFile(film, IN_PARTS)
    })
    afterAll(() => folder.remove('SIGKILL'))

    const toast = (page: Page, text: string) => page.locator('.toast', { hasText: text }).waitFor()

    it('a reload ends an upload in one PUT, which frees its space', async () => {
      const { demo } = suite
      await demo.throttle(500_000)
      await demo.chooseLarge('big.bin', 9_000_000)
      await demo.upload('big.bin').getByText('of 9 MB').waitFor()
      await demo.page.reload()
      await toast(demo.page, 'Ended the upload of 1 file that was interrupted.')
      await demo.usage('0 bytes of 25 MB')
      await expect.poll(() => demo.page.locator('#usage-reserved').textContent()).toBe('')
      await demo.shows([])
    })

    it('a reload keeps an upload in parts, which the user discards or resumes', async () => {
      const { demo } = suite
      const { page } = demo
      await interrupt()
      await page.getByRole('button', { name: 'Discard film.bin' }).click()
      await page.getByText('Interrupted uploads').waitFor({ state: 'hidden' })
      await expect.poll(() => page.locator('#usage-reserved').textContent()).toBe('')

      await interrupt()
      const choosing = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Resume film.bin' }).click()
      await toast(page, 'Choose film.bin again. Only the missing part is sent.')
      await (await choosing).setFiles(film)
      await demo.shows(['film.bin'])
      await page.getByText('Interrupted uploads').waitFor({ state: 'hidden' })
      await demo.usage('18 MB of 25 MB')

      async function interrupt(): Promise<void> {
        await demo.throttle(3_000_000)
        await demo.chooseFromDisk(film)
        await demo.upload('film.bin').getByText('of 18 MB').waitFor()
        await page.reload()
        await demo.throttle(null)
        await page.locator('#unfinished-list', { hasText: 'of 18 MB arrived' }).waitFor()
        await page.getByText('and 18 MB uploading').waitFor()
      }
    })

    it('the user pauses one upload or all, sees the time left, and resumes them by keyboard', async () => {
      const { demo } = suite
      const { page } = demo
      await demo.throttle(2_000_000)
      await demo.chooseFromDisk(film)
      await demo.upload('film.bin').getByText('of 18 MB').waitFor()
      await page.locator('#time-left', { hasText: 'left' }).waitFor()
      await page.getByRole('button', { name: 'Pause film.bin' }).focus()
      await page.keyboard.press('Enter')
      await demo.upload('film.bin').getByText('Paused').waitFor()
      await page.getByText('and 18 MB uploading').waitFor()
      expect(await page.locator('#time-left').textContent()).toBe('')
      // The focus stays with the file.
      await page.keyboard.press('Enter')
      await demo.upload('film.bin').getByText('Paused').waitFor({ state: 'hidden' })

      await page.getByRole('button', { name: 'Pause all' }).click()
      await page.locator('#announcer', { hasText: 'Uploads are paused.' }).waitFor({ state: 'attached' })
      await demo.choose(textFile('later.txt'))
      await demo.upload('later.txt').getByText('Paused').waitFor()
      await demo.throttle(null)
      await page.getByRole('button', { name: 'Resume all' }).click()
      await demo.shows(['film.bin', 'later.txt'])
    })

    it('an upload waits for the network and goes on', async () => {
      const { demo } = suite
      await demo.throttle(500_000)
      await demo.chooseLarge('big.bin', 3_000_000)
      await demo.upload('big.bin').getByText('of 3 MB').waitFor()
      await demo.offline(true)
      await demo.upload('big.bin').getByText('Waiting for the network').waitFor()
      await demo.offline(false)
      await demo.shows(['big.bin'])
    })

    it('a switch that fails shows the user who is signed in', async () => {
      const { demo } = suite
      const { page } = demo
      await demo.choose(textFile('of Ada.txt'))
      await demo.shows(['of Ada.txt'])
      await demo.offline(true)
      await demo.switchTo('Grace')
      await page.getByText('Couldn’t switch to Grace. Try again.').waitFor()
      expect(await page.getByRole('radio', { name: 'Ada' }).isChecked()).toBe(true)
      await demo.shows(['of Ada.txt'])
      await demo.offline(false)
      await demo.switchTo('Grace')
      await page.getByText('Nothing here yet').waitFor()
      expect(await page.getByText('Couldn’t switch').count()).toBe(0)
    })

    it('an upload never lands in the account of another person whom another window switched to', async () => {
      const { demo } = suite
      const other = await openWindow(demo)
      await demo.throttle(500_000)
      await demo.chooseLarge('of Ada.bin', 2_000_000)
      await demo.upload('of Ada.bin').getByText('of 2 MB').waitFor()
      await other.switchTo('Grace')
      await expect.poll(() => demo.page.getByRole('radio', { name: 'Grace' }).isChecked()).toBe(true)
      await demo.upload('of Ada.bin').getByText('Another window has switched to another person.').waitFor()
      await demo.shows([])
      await other.page.reload()
      await other.shows([])

      // Whatever arrived belongs to Ada, and is settled when she is back.
      await demo.throttle(null)
      await demo.switchTo('Ada')
      await expect.poll(() => reservedFiles(demo.page)).toBe(0)
    })

    it('many failures are one group, with all their actions', async () => {
      const { demo } = suite
      const { page } = demo
      for (const name of ['one.bin', 'two.bin', 'three.bin']) await demo.chooseLarge(name, 26_000_000)
      await page.getByText('3 files not uploaded').waitFor()
      await page.getByRole('button', { name: 'Dismiss all' }).click()
      await page.getByText('not uploaded').waitFor({ state: 'hidden' })
      await page.getByRole('heading', { name: 'Uploads' }).waitFor({ state: 'hidden' })

      await demo.chooseLarge('first.bin', 20_000_000)
      await demo.shows(['first.bin'])
      for (const name of ['four.bin', 'five.bin']) await demo.chooseLarge(name, 8_000_000)
      await page.getByText('2 files not uploaded').waitFor()
      await page.getByRole('button', { name: 'Delete first.bin' }).click()
      await page.getByRole('button', { name: 'Retry all' }).click()
      await demo.shows(['four.bin', 'five.bin'])
    })

    it('a switch of the user that cancels uploads has to be confirmed', async () => {
      const { demo } = suite
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

    it('an upload says that its code is missing, or that its file has changed on disk', async () => {
      const { demo } = suite
      const { page } = demo
      await page.route(/assets\/upload-/, (route) => route.abort())
      // The page has loaded it to settle uploads.
      await page.reload()
      await demo.choose(textFile('a.txt'))
      await demo.upload('a.txt').getByText('A part of this page couldn’t be loaded.').waitFor()
      await page.unrouteAll()
      await page.getByRole('button', { name: 'Retry a.txt' }).click()
      await demo.shows(['a.txt'])

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
}

/** Returns for how many files the server holds space. */
function reservedFiles(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const { usage } = (await (await fetch('/api/s3/db/usage')).json()) as { usage: { reservedFiles: number } }
    return usage.reservedFiles
  })
}
