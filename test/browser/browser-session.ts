import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterEach } from 'vitest'
import { openContext } from './chromium.js'
import { startClientPage, type ClientPage, type ClientPageOptions } from './client-page.js'

/** A server and a browser context that one test uses. */
export interface BrowserSession {
  readonly server: ClientPage
  readonly context: BrowserContext
  readonly page: Page
  /** Opens the page in another tab. Resolves once the client has loaded. */
  readonly openPage: () => Promise<Page>
}

/** Opens a session. `close` ends it. */
export async function openSession(
  browser: Browser,
  options?: ClientPageOptions,
): Promise<BrowserSession & { readonly close: () => Promise<void> }> {
  const server = await startClientPage(options)
  const context = await openContext(browser)
  const openPage = async () => {
    const opened = await context.newPage()
    await opened.goto(server.url)
    await opened.waitForFunction(() => 'client' in window)
    return opened
  }
  const close = async () => {
    await context.close()
    await server.stop()
  }
  return { server, context, page: await openPage(), openPage, close }
}

/** Returns a function that starts the session of a test, which ends with that test. */
export function useBrowserSessions(
  browser: () => Browser,
  options?: ClientPageOptions,
): () => Promise<BrowserSession> {
  let close: () => Promise<void>
  afterEach(() => close())
  return async () => {
    const session = await openSession(browser(), options)
    close = session.close
    return session
  }
}

/** Limits the upload rate of a page, in bytes per second. */
export async function throttle(page: Page, uploadThroughput: number): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput }
  await session.send('Network.emulateNetworkConditions', conditions)
}

/** Waits until the digest of the first part, which has arrived, is in the browser's storage, where it is written every second. */
export async function untilKept(page: Page): Promise<void> {
  await page.waitForFunction(() =>
    Object.values(localStorage).some((text) => /"digests":\[null,\["/.test(String(text))),
  )
}
