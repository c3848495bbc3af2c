import type { Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { findChromium } from './chromium.js'
import { accessibilityTests } from './demo-accessibility.js'
import { fileTests } from './demo-files.js'
import { interruptionTests } from './demo-interruptions.js'
import { noteAndBoardTests } from './demo-notes-and-board.js'
import { quoted, textFile, type DemoPage } from './demo-page.js'
import { useDemo } from './demo-suite.js'
import { thumbnailTests } from './demo-thumbnails.js'

const executablePath = await findChromium()

describe.skipIf(executablePath === null)('the demo in a browser', () => {
  const suite = useDemo(executablePath)
  let demo: DemoPage
  beforeEach(() => {
    demo = suite.demo
  })

  // One file, because a browser and a demo take longer to start than most of the tests.
  fileTests(suite)
  interruptionTests(suite)
  noteAndBoardTests(suite)
  thumbnailTests(suite)
  accessibilityTests(suite)

  it('lists files in pages, and refuses a file beyond the file limit', async () => {
    const files = Array.from({ length: 41 }, (_, index) => textFile(`file ${index + 1}.txt`))
    await demo.choose(...files)
    await demo.uploaded()
    const refused = demo.page.locator('.upload.failed')
    const sentence = await refused.locator('[data-part=state]').textContent()
    const name = (await refused.locator('[data-part=name]').textContent()) ?? ''
    expect(sentence).toBe(
      `You have reached your limit of 40 files. Delete one to make room for ${quoted(name)}.`,
    )
    await demo.usage('40 of 40 files')

    await demo.page.reload()
    const more = demo.page.getByRole('button', { name: 'Load more' })
    for (const shown of [12, 24, 36, 40]) {
      await expect.poll(async () => (await demo.names()).length).toBe(shown)
      // The focus moves to the first new file.
      if (shown > 12) await expect.poll(() => indexOfFocus(demo.page)).toBe(shown === 40 ? 36 : shown - 12)
      if (shown === 40) break
      await more.focus()
      await demo.page.keyboard.press('Enter')
    }
    await more.waitFor({ state: 'hidden' })
    await demo.shows(files.map((file) => file.name).filter((one) => one !== name))
  })
})

/** Returns the position of the file whose name has the focus. */
function indexOfFocus(page: Page): Promise<number> {
  return page.evaluate(() =>
    [...document.querySelectorAll('#file-list [data-part=name]')].indexOf(document.activeElement as Element),
  )
}
