import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterEach } from 'vitest'
import { openContext } from './chromium.js'
import { startClientPage, type ClientPage } from './client-page.js'

/** A server and a browser context that one test uses. */
export interface BrowserSession {
  readonly server: ClientPage
  readonly context: BrowserContext
  readonly page: Page
  /** Opens the page in another tab. Resolves once the client has loaded. */
  readonly openPage: () => Promise<Page>
}

/** Returns a function that starts the session of a test, which ends with that test. */
export function useBrowserSessions(browser: () => Browser): () => Promise<BrowserSession> {
  let server: ClientPage
  let context: BrowserContext

  afterEach(async () => {
    await context.close()
    await server.stop()
  })

  async function openPage(): Promise<Page> {
    const opened = await context.newPage()
    await opened.goto(server.url)
    await opened.waitForFunction(() => 'client' in window)
    return opened
  }

  return async () => {
    server = await startClientPage()
    context = await openContext(browser())
    return { server, context, page: await openPage(), openPage }
  }
}

/** Limits the upload rate of a page, in bytes per second. */
export async function throttle(page: Page, uploadThroughput: number): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput }
  await session.send('Network.emulateNetworkConditions', conditions)
}
