import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { CHROMIUM } from '../servers/chromium.js'
import { findServer } from '../servers/found-server.js'

/** Finds Chromium. Resolves to its path, or prints a warning and resolves to `null`, which skips the browser tests. */
export async function findChromium(): Promise<string | null> {
  const found = await findServer(CHROMIUM)
  if (!('reason' in found)) return found.url
  console.warn(`Skipped: tests in a browser. There is ${found.reason}`)
  return null
}

/** Launches a browser for a suite, and closes it afterwards. Returns a function that returns the browser. */
export function useBrowser(executablePath: string | null): () => Browser {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '', timeout: 0 })
  })
  afterAll(() => browser.close())
  return () => browser
}

/** Opens a context whose pages wait for as long as the test may run. */
export async function openContext(
  browser: Browser,
  options?: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(0)
  return context
}
