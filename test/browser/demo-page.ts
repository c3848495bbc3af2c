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

/** The demo's page, by what a person sees there. */
export interface DemoPage {
  readonly page: Page
  /** What the browser itself complained of, but for refusals of the API, which it always mentions. */
  readonly complaints: string[]
  choose(...files: readonly ChosenFile[]): Promise<void>
  /** A file of the disk, of which the page gets only the name, as from a person. */
  chooseFromDisk(path: string): Promise<void>
  /** A file of that many bytes, made in the page: what comes from outside takes its time. */
  chooseLarge(name: string, size: number): Promise<void>
  /** Waits until no upload is under way. */
  uploaded(): Promise<void>
  /** Names of the files that are shown, in the order in which they are. */
  names(): Promise<string[]>
  /** Waits until exactly these are shown, in any order. */
  shows(names: readonly string[]): Promise<void>
  card(name: string): Locator
  upload(name: string): Locator
  /** Waits for this text of the usage, such as `3 of 40 files`. */
  usage(text: string): Promise<void>
  be(name: string): Promise<void>
  /** Slows the sending of bodies down to that many bytes a second; `null`: as fast as it goes. */
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
    be: async (name) => {
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
