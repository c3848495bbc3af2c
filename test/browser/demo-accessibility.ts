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
  })
}

/** Returns the rules that the page breaks, with the elements. */
async function violations(page: Page, rules: axe.RunOptions): Promise<unknown[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate((options) => window.axe.run(options), rules)
  return found.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html) }))
}
