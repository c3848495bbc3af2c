import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openContext } from './chromium.js'
import { openDemo, textFile } from './demo-page.js'
import type { DemoSuite } from './demo-suite.js'

declare global {
  interface Window {
    axe: typeof axe
  }
}

export function accessibilityTests(suite: DemoSuite): void {
  describe('accessibility', () => {
    // Only the contrast differs in dark colours.
    it.each<['light' | 'dark', axe.RunOptions]>([
      ['light', {}],
      ['dark', { runOnly: 'color-contrast' }],
    ])('has no violation that axe finds, in %s colours', async (colorScheme, rules) => {
      const demo = await openDemo(suite.browser, suite.server.url, {
        colorScheme,
      })
      const { page } = demo
      await page.getByText('Nothing here yet').waitFor()
      expect(await violations(page, rules)).toEqual([])

      await page.getByText('What happened').click()
      await demo.choose(textFile('a.txt'), textFile('b.txt'))
      await demo.chooseLarge('huge.bin', 26_000_000)
      await demo.shows(['a.txt', 'b.txt'])
      await page.getByText('1 file not uploaded').waitFor()
      await demo.throttle(300_000)
      await demo.chooseLarge('slow.bin', 3_000_000)
      await page.getByRole('button', { name: 'Pause slow.bin' }).click()
      await page.getByRole('checkbox', { name: 'Select a.txt' }).check()
      await page.locator('.entry[data-kind=refused]').first().waitFor()
      expect(await violations(page, rules)).toEqual([])

      await page.getByRole('button', { name: 'Cancel the upload of slow.bin' }).click()
      await page.getByRole('button', { name: 'Rename a.txt' }).click()
      expect(await violations(page, rules)).toEqual([])
      await page.keyboard.press('Escape')
      expect(demo.complaints).toEqual([])
    })

    it('keeps the bars visible in forced colours', async () => {
      const demo = await openDemo(suite.browser, suite.server.url, { forcedColors: 'active' })
      await demo.chooseLarge('half.bin', 12_500_000)
      await demo.usage('12.5 MB of 25 MB')
      const colourOf = (selector: string) =>
        demo.page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor)
      expect(await colourOf('.bar-used')).not.toBe(await colourOf('.bar'))
    })

    it('says without JavaScript that it needs it', async () => {
      const context = await openContext(suite.browser, { javaScriptEnabled: false })
      const page = await context.newPage()
      await page.goto(suite.server.url)
      await page.locator('.no-script').waitFor()
    })

    it('supports keyboard use', async () => {
      const { demo } = suite
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
  })
}

/** Returns the rules that the page breaks, with the elements. */
async function violations(page: Page, rules: axe.RunOptions): Promise<unknown[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate((options) => window.axe.run(options), rules)
  return found.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html) }))
}
