import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

export interface ChosenFile {
  readonly name: string
  readonly mimeType: string
  readonly buffer: Buffer
}

export function textFile(name: string, size = 1): ChosenFile {
  return { name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') }
}

/** The demo's page, as a user sees it. */
export interface DemoPage {
  readonly page: Page
  /** Errors in the browser console, except those about refused requests. */
  readonly complaints: string[]
  choose(...files: readonly ChosenFile[]): Promise<void>
  /** Chooses a file on disk, like a user. */
  chooseFromDisk(path: string): Promise<void>
  /** Chooses a file created in the page, because passing a large one from here is slow. */
  chooseLarge(name: string, size: number): Promise<void>
  /** Waits until no upload is in progress. */
  uploaded(): Promise<void>
  /** Names of the files shown, in order. */
  names(): Promise<string[]>
  /** Waits until exactly these files are shown, in any order. */
  shows(names: readonly string[]): Promise<void>
  card(name: string): Locator
  upload(name: string): Locator
  /** Waits for a usage text, such as `3 of 40 files`. */
  usage(text: string): Promise<void>
  switchTo(name: string): Promise<void>
  /** Limits the upload rate in bytes per second; `null`: no limit. */
  throttle(bytesPerSecond: number | null): Promise<void>
}

export async function openDemo(
  browser: Browser,
  url: string,
  options?: Parameters<Browser['newContext']>[0],
): Promise<DemoPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const isRefusal = message.text().startsWith('Failed to load resource: the server responded with')
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })
  await page.goto(url)
  await page.getByRole('radio').first().waitFor()

  const names = () => page.locator('#file-list [data-part=name]').allTextContents()
  return {
    page,
    complaints,
    choose: (...files) => page.setInputFiles('#chosen', [...files]),
    chooseFromDisk: (path) => page.setInputFiles('#chosen', path),
    chooseLarge: (name, size) =>
      page.locator('#chosen').evaluate(
        (input: HTMLInputElement, large) => {
          const transfer = new DataTransfer()
          transfer.items.add(new File([new Uint8Array(large.size)], large.name))
          input.files = transfer.files
          input.dispatchEvent(new Event('change'))
        },
        { name, size },
      ),
    uploaded: async () => {
      await page.locator('.upload:not(.failed)').first().waitFor({ state: 'detached' })
      await page.waitForFunction(() => !document.querySelector('.upload:not(.failed)'))
    },
    names,
    shows: (expected) => expect.poll(async () => (await names()).sort()).toEqual([...expected].sort()),
    card: (name) => page.locator('.file').filter({ has: page.getByText(name, { exact: true }) }),
    upload: (name) => page.locator('.upload').filter({ has: page.getByText(name, { exact: true }) }),
    usage: (text) => page.locator('.usage').getByText(text, { exact: true }).waitFor(),
    switchTo: async (name) => {
      await page.locator('.person').filter({ hasText: name }).click()
    },
    throttle: (bytesPerSecond) => throttle(context, page, bytesPerSecond),
  }
}

async function throttle(context: BrowserContext, page: Page, bytesPerSecond: number | null): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: bytesPerSecond ?? -1,
  })
}
