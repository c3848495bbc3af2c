import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { findChromium } from './chromium.js'
import { openDemo, textFile } from './demo-page.js'
import { useDemo } from './demo-suite.js'

declare global {
  interface Window {
    axe: typeof axe
  }
}

const executablePath = await findChromium()

describe.skipIf(executablePath === null)('accessibility of the demo', () => {
  const suite = useDemo(executablePath)

  it.each(['light', 'dark'] as const)(
    'has no violation that axe finds, in %s colours',
    async (colorScheme) => {
      const demo = await openDemo(suite.browser, suite.server.url, {
        colorScheme,
        // Colours in the middle of an animation have another contrast.
        reducedMotion: 'reduce',
      })
      const { page } = demo
      await page.getByText('Nothing here yet').waitFor()
      expect(await violations(page)).toEqual([])

      await page.getByText('What happened').click()
      await demo.choose(textFile('a.txt'), textFile('b.txt'))
      await demo.chooseLarge('huge.bin', 26_000_000)
      await demo.shows(['a.txt', 'b.txt'])
      await page.getByText('1 file not uploaded').waitFor()
      await page.getByRole('checkbox', { name: 'Select a.txt' }).check()
      await page.locator('.entry[data-kind=refused]').first().waitFor()
      expect(await violations(page)).toEqual([])

      await page.getByRole('button', { name: 'Rename a.txt' }).click()
      expect(await violations(page)).toEqual([])
      await page.keyboard.press('Escape')
      expect(demo.complaints).toEqual([])
    },
  )

  it('keeps the bars visible in forced colours', async () => {
    const demo = await openDemo(suite.browser, suite.server.url, { forcedColors: 'active' })
    await demo.choose(textFile('half.bin', 12_500_000))
    await demo.usage('12.5 MB of 25 MB')
    const colourOf = (selector: string) =>
      demo.page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor)
    expect(await colourOf('.bar-used')).not.toBe(await colourOf('.bar'))
  })

  it('moves the focus to the first new file after "Load more"', async () => {
    const { demo } = suite
    const { page } = demo
    await demo.choose(...Array.from({ length: 26 }, (_, index) => textFile(`${index}.txt`)))
    await demo.uploaded()
    await page.reload()
    const more = page.getByRole('button', { name: 'Load more' })
    for (const shown of [12, 24]) {
      await expect.poll(async () => (await demo.names()).length).toBe(shown)
      await more.focus()
      await page.keyboard.press('Enter')
      await expect.poll(() => indexOfFocus(page)).toBe(shown)
    }
  })

  it('says without JavaScript that it needs it', async () => {
    const context = await suite.browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(suite.server.url)
    await page.locator('.no-script').waitFor()
  })
})

/** Returns the rules that the page breaks, with the elements. */
async function violations(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate(() => window.axe.run())
  return found.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html) }))
}

/** Returns the position of the file whose name has the focus. */
function indexOfFocus(page: Page): Promise<number> {
  return page.evaluate(() =>
    [...document.querySelectorAll('#file-list [data-part=name]')].indexOf(document.activeElement as Element),
  )
}
