import type * as clientExports from '@svc/db/client'
import type { Response } from 'express'
import type { Page } from 'playwright-core'
import { describe, expect, it, type TestContext } from 'vitest'
import { HOUR, ManualClock, SECOND } from '../conformance/clock.js'
import { until } from '../until.js'
import { openSession, throttle, untilKept, type BrowserSession } from './browser-session.js'
import { findChromium, useBrowser } from './chromium.js'
import type { ClientPageOptions } from './client-page.js'
import { bytesOf, type Outcome, type UploadPlan } from './engines/session.js'

const IN_PARTS = 16 * 1024 ** 2 + 1000

/** Uploads a file, the same each time, whose bytes are those of `bytesOf`. */
function upload(page: Page, plan: UploadPlan = {}): Promise<Outcome> {
  return page.evaluate(async ({ size = 1000 }): Promise<Outcome> => {
    const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
    const bytes = Uint8Array.from({ length: size }, (_, index) => index % 251)
    const file = new File([bytes], 'a.bin', { lastModified: 1 })
    const onProgress = ({ loaded }: clientExports.UploadProgress) => void (window.loaded = loaded)
    return api.upload(file, { onProgress }).then(
      ({ key, status }) => ({ key, result: status }),
      ({ code }: clientExports.S3ClientError) => ({ result: code }),
    )
  }, plan)
}

const executablePath = await findChromium()

// The drivers of the other engines can't replace the clock of a page, throttle it or crash it.
describe.skipIf(executablePath === null)(
  'an upload in Chromium, whose clock, line and pages a test controls,',
  () => {
    const browser = useBrowser(executablePath)

    async function open(
      { onTestFinished }: TestContext,
      options?: ClientPageOptions,
    ): Promise<BrowserSession> {
      const { close, ...session } = await openSession(browser(), options)
      onTestFinished(close)
      return session
    }

    /** Expects that the file is stored once, as it is. */
    async function expectStored(
      { server }: BrowserSession,
      { result, key }: Outcome,
      size = 1000,
    ): Promise<void> {
      expect(result).toBe('active')
      expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
      expect(await server.usage()).toMatchObject({ bytes: size, files: 1 })
    }

    it.concurrent('survives a slow line that makes progress', async (test) => {
      const session = await open(test)
      const { page } = session
      await page.clock.install()
      await throttle(page, 100_000)
      const outcome = upload(page, { size: 600_000 })
      for (let jumps = 0, loaded = 0; jumps < 2; jumps++) {
        await page.waitForFunction((before) => (window.loaded ?? 0) > before, loaded)
        loaded = await page.evaluate(() => window.loaded!)
        // Together more than `stallSeconds`.
        await page.clock.fastForward(20 * SECOND)
      }
      await expectStored(session, await outcome, 600_000)
    })

    it.concurrent('is resumed after a crash of the page, and sends only the missing parts', async (test) => {
      const session = await open(test)
      const { page, server, openPage } = session
      server.hold([2, 3])
      void upload(page, { size: IN_PARTS }).catch(() => null)
      await until(() => server.partsStored.length === 1 && server.partsSent.length === 3)
      await untilKept(page)
      const crashed = page.waitForEvent('crash')
      const cdp = await page.context().newCDPSession(page)
      void cdp.send('Page.crash').catch(() => null)
      await crashed
      server.hold([])
      await expectStored(session, await upload(await openPage(), { size: IN_PARTS }), IN_PARTS)
      expect([...server.partsSent].sort()).toEqual([1, 2, 2, 3, 3])
    })

    it.concurrent.for([1000, IN_PARTS])(
      'begins anew after a sleep of the computer: %i bytes',
      async (size, test) => {
        const clock = new ManualClock()
        const session = await open(test, { now: clock.now })
        const { page, server } = session
        await page.clock.install()
        const held: Response[] = []
        server.lie((line, _call, res, serve) => (line === 'PUT' ? held.push(res) : serve()))
        const outcome = upload(page, { size })
        await until(() => held.length === (size === 1000 ? 1 : 3))
        clock.advance(12 * HOUR)
        server.lie(null)
        for (const res of held) res.destroy()
        // Fires all timers that are due once, as browsers do after a sleep.
        await page.clock.fastForward(12 * HOUR)
        const done = outcome.then(() => true)
        while (!(await Promise.race([done, page.clock.runFor(SECOND)]))) continue
        await expectStored(session, await outcome, size)
      },
    )
  },
)
