import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { findServer, type ServerKind } from '../servers/found-server.js'

/** The headless shell is the same engine without the windows of a browser. It takes a third of the processor time. */
const PROGRAMS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

/** Usual locations outside PATH. */
const USUAL_PATHS = [
  '/usr/bin/chromium',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Found like the test servers, with the path of the program as its URL. */
const CHROMIUM: ServerKind = {
  name: 'chromium',
  variable: 'CHROMIUM_PATH',
  howToGet: 'install Chromium (Debian: apt-get install chromium-headless-shell)',
  ways: [
    async () => {
      const path = installedProgram()
      return path === null ? null : { url: path, from: path, stop: async () => {} }
    },
  ],
}

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

function installedProgram(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const onPath = folders.flatMap((folder) => PROGRAMS.map((program) => join(folder, program)))
  return [...onPath, ...USUAL_PATHS].find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
