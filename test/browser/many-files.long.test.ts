import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { until } from '../until.js'
import { useBrowserSessions } from './browser-session.js'
import { findChromium, useBrowser } from './chromium.js'
import { addFiles, call, snapshotOf } from './queue-page.js'

const executablePath = await findChromium()

/** How much processor time one task of the page may take, in milliseconds. Not the time that passes: other programs need some of it. */
const LONGEST_TASK = 100

const COUNT = 5000

declare global {
  interface Window {
    files: readonly File[]
  }
}

describe.skipIf(executablePath === null)('5,000 files that are added at once', () => {
  const browser = useBrowser(executablePath)
  const startSession = useBrowserSessions(browser)

  /** Resolves to the longest task of the page while it works, in milliseconds of processor time. */
  async function longestTask(page: Page, work: () => Promise<void>): Promise<number> {
    await browser().startTracing(page, {
      categories: ['disabled-by-default-devtools.timeline', 'toplevel', '__metadata'],
    })
    await work()
    return longestOf(await browser().stopTracing())
  }

  it('take no long task of the page, nor does it take one to cancel them all', async () => {
    const { page, server } = await startSession()
    server.lie((line, _call, res, serve) => (line === 'POST /upload' ? void setTimeout(serve, 20) : serve()))
    await addFiles(page, { count: 1, size: 1 })
    // Creating files takes the page longer than choosing them.
    await page.evaluate((count) => {
      const files = Array.from({ length: count }, (_, index) => new File(['x'], `${index}.bin`))
      Object.assign(window, { files })
    }, COUNT)
    const longest = await longestTask(page, async () => {
      await page.evaluate(() => void window.queue.add(window.files))
      await until(async () => {
        const { items } = await page.evaluate(() => ({
          items: window.queue.getSnapshot().items.slice(0, 60),
        }))
        return items.every(({ state }) => state === 'done')
      })
      await call(page, 'cancel')
    })
    const { items } = await snapshotOf(page)
    expect(items).toHaveLength(COUNT + 1)
    expect(longest).toBeLessThan(LONGEST_TASK)
  })
})

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Microseconds of processor time. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

function longestOf(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const pages = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && pages.has(`${pid} ${tid}`),
  )
  expect(tasks.length).toBeGreaterThan(100)
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000
}
