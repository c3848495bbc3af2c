import { chromium, type Page } from 'playwright-core'
import { openContext } from '../chromium.js'
import type { Engine, Tab } from './engine.js'

/** Launches Chromium, driven by Playwright. Pages at `http://HOST` of `plainHost` are served at 127.0.0.1. */
export async function startChromium(executablePath: string, plainHost: string): Promise<Engine> {
  const args = [`--host-resolver-rules=MAP ${plainHost} 127.0.0.1`]
  const browser = await chromium.launch({ executablePath, timeout: 0, args })
  return {
    openProfile: async () => {
      const context = await openContext(browser)
      const openTab = async (url: string) => {
        const page = await context.newPage()
        await page.goto(url)
        return tabOf(page)
      }
      return { openTab, close: () => context.close() }
    },
    stop: () => browser.close(),
  }
}

function tabOf(page: Page): Tab {
  const begin = (call: () => void) => page.evaluate(`void setTimeout(${String(call)})`)
  return {
    begin: async (call) => void (await begin(call)),
    goto: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    evaluate: (call, argument) => page.evaluate(call as () => never, argument),
    choose: (selector, paths) => page.setInputFiles(selector, [...paths]),
    download: async (call) => {
      const [download] = await Promise.all([page.waitForEvent('download'), begin(call)])
      return download.suggestedFilename()
    },
    close: () => page.close(),
  }
}
