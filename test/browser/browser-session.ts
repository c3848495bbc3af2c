import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { startClientPage, type ClientPage } from './client-page.js'

/** A server and a browser context that one test uses. */
export interface BrowserSession {
  readonly server: ClientPage
  readonly context: BrowserContext
  readonly page: Page
  /** Opens the page in another tab. Resolves once the client has loaded. */
  readonly openPage: () => Promise<Page>
}

/** Launches a browser for a suite. Returns a function that starts the session of a test, which ends with that test. */
export function useBrowserSessions(executablePath: string | null): () => Promise<BrowserSession> {
  let browser: Browser
  let server: ClientPage
  let context: BrowserContext

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '' })
  })
  afterAll(() => browser.close())
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
    context = await browser.newContext()
    return { server, context, page: await openPage(), openPage }
  }
}
