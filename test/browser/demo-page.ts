import type { Browser, CDPSession, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { openContext } from './chromium.js'

export interface ChosenFile {
  readonly name: string
  readonly mimeType: string
  readonly buffer: Buffer
}

export function textFile(name: string, size = 1): ChosenFile {
  return { name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') }
}

/** A filename as the page quotes it in a sentence: isolated, so that its direction doesn't change that of the sentence. */
export const quoted = (name: string): string => `“\u2068${name}\u2069”`

/** The demo's page, as a user sees it. */
export interface DemoPage {
  readonly page: Page
  /** Errors in the browser console, except those about requests that were refused or lost. */
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
  /** Deletes a file without waiting for the time in which that can be undone. */
  delete(name: string): Promise<void>
  /** Limits the upload rate in bytes per second; `null`: no limit. */
  throttle(bytesPerSecond: number | null): Promise<void>
  /** Cuts the network of the page, or restores it. */
  offline(isOffline: boolean): Promise<void>
}

export async function openDemo(
  browser: Browser,
  url: string,
  options?: Parameters<Browser['newContext']>[0],
): Promise<DemoPage> {
  // Animations cost frames, and colours in the middle of one have another contrast.
  const context = await openContext(browser, { reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  const demo = demoPage(page, complaints)
  await page.goto(url)
  await page.getByRole('radio').first().waitFor()
  return demo
}

/** Opens another window of the same browser profile. */
export async function openWindow({ page, complaints }: DemoPage): Promise<DemoPage> {
  const another = await page.context().newPage()
  const demo = demoPage(another, complaints)
  await another.goto(page.url())
  await another.getByRole('radio').first().waitFor()
  return demo
}

function demoPage(page: Page, complaints: string[]): DemoPage {
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const isRefusal = /^Failed to load resource: (?:the server responded with|net::ERR_)/.test(message.text())
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })

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
      await page.waitForFunction(() => !document.querySelector('#upload-list .upload'))
    },
    names,
    shows: (expected) => expect.poll(async () => (await names()).sort()).toEqual([...expected].sort()),
    card: (name) => page.locator('#file-list .file').filter({ has: page.getByText(name, { exact: true }) }),
    upload: (name) => page.locator('#uploads .upload').filter({ has: page.getByText(name, { exact: true }) }),
    usage: (text) => page.locator('.usage').getByText(text, { exact: true }).waitFor(),
    switchTo: async (name) => {
      await page.locator('.person').filter({ hasText: name }).click()
    },
    delete: async (name) => {
      await page.getByRole('button', { name: `Delete ${name}` }).click()
      const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
      await page.locator('.toast', { hasText: name }).getByRole('button', { name: 'Dismiss' }).click()
      await deleted
    },
    throttle: (bytesPerSecond) => setNetwork(page, { uploadThroughput: bytesPerSecond ?? -1 }),
    offline: (isOffline) => setNetwork(page, { offline: isOffline }),
  }
}

/** One session for each page, because the conditions of a session hold until it changes them. */
const sessions = new WeakMap<Page, CDPSession>()

async function setNetwork(page: Page, { offline = false, uploadThroughput = -1 }): Promise<void> {
  const session = sessions.get(page) ?? (await page.context().newCDPSession(page))
  sessions.set(page, session)
  const conditions = { offline, latency: 0, downloadThroughput: -1, uploadThroughput }
  await session.send('Network.emulateNetworkConditions', conditions)
}
