import type * as clientExports from '@svc/db/client'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { useBrowserSessions } from './browser-session.js'
import type { ClientPage } from './client-page.js'

declare global {
  interface Window {
    client: typeof clientExports
    stopUpload: () => void
    uploadStates: readonly string[]
  }
}

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
const RESERVED = { ...NOTHING_USED, reservedBytes: 1000, reservedFiles: 1 }
const ONE_FILE = { ...NOTHING_USED, bytes: 1000, files: 1 }

interface Outcome {
  readonly code: string | undefined
  readonly states: readonly string[]
}

function upload(page: Page, options: { account?: string; timeoutSeconds?: number } = {}): Promise<Outcome> {
  return page.evaluate(async ({ account, timeoutSeconds }): Promise<Outcome> => {
    const { api } = window.client.createS3Client({
      plugins: [],
      headers: { 'x-user': 'ada' },
      account: account ?? null,
    })
    const controller = new AbortController()
    window.stopUpload = () => controller.abort()
    const states: string[] = []
    window.uploadStates = states
    const code = await api
      .upload(new File([new Uint8Array(1000)], 'a.bin'), {
        timeoutSeconds,
        signal: controller.signal,
        onState: (state) => states.push(state),
      })
      .then(
        () => undefined,
        (error: clientExports.S3ClientError) => error.code,
      )
    return { code, states }
  }, options)
}

function settle(page: Page, account: string | null = null): Promise<clientExports.SettledUploads> {
  return page.evaluate((given) => {
    const { api } = window.client.createS3Client({
      plugins: [],
      headers: { 'x-user': 'ada' },
      account: given,
    })
    return api.settleUploads()
  }, account)
}

/** The names of the attempts that pages work on. */
function heldLocks(page: Page): Promise<unknown[]> {
  return page.evaluate(async () => {
    const { held = [] } = await navigator.locks.query()
    return held.map(({ name }) => name)
  })
}

export const keptUploads = (browser: () => Browser): void => {
  describe('an upload that was cut off', () => {
    const startSession = useBrowserSessions(browser)
    let server: ClientPage
    let context: BrowserContext
    let page: Page
    let openPage: () => Promise<Page>

    beforeEach(async () => {
      ;({ server, context, page, openPage } = await startSession())
    })

    /** Starts an upload whose bytes the bucket never accepts. */
    async function startHeld(account?: string): Promise<{ readonly outcome: Promise<Outcome | null> }> {
      server.fail('hold')
      const outcome = upload(page, account === undefined ? {} : { account }).catch(() => null)
      await expect.poll(() => server.toBucket.length).toBe(1)
      return { outcome }
    }

    it('by a reload is ended by the next upload, which frees its room', async () => {
      await startHeld()
      await page.reload()
      await page.waitForFunction(() => 'client' in window)
      expect(await server.usage()).toEqual(RESERVED)
      server.fail('none')
      expect((await upload(page)).code).toBeUndefined()
      expect(await server.usage()).toEqual(ONE_FILE)
      expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    })

    it('by closing the tab is settled in another one, which leaves living tabs alone', async () => {
      const other = await openPage()
      await startHeld()
      expect(await settle(other)).toEqual({ confirmed: 0, ended: 0, kept: 1 })
      expect(await server.usage()).toEqual(RESERVED)
      await page.close()
      await expect.poll(() => settle(other)).toEqual({ confirmed: 0, ended: 1, kept: 0 })
      expect(await server.usage()).toEqual(NOTHING_USED)
    })

    it('is settled only for its own account', async () => {
      await startHeld('ada')
      await page.reload()
      await page.waitForFunction(() => 'client' in window)
      expect(await settle(page, 'grace')).toEqual({ confirmed: 0, ended: 0, kept: 0 })
      expect(await settle(page, 'ada')).toEqual({ confirmed: 0, ended: 1, kept: 0 })
    })

    it('by an abort without a network is aborted later', async () => {
      const { outcome } = await startHeld()
      await context.setOffline(true)
      await page.evaluate(() => window.stopUpload())
      expect((await outcome)?.code).toBe('ABORTED')
      // The call rejects at once. What it asks the server follows, and must fail before there is a network again.
      await expect.poll(() => heldLocks(page)).toEqual([])
      await context.setOffline(false)
      expect(await server.usage()).toEqual(RESERVED)
      expect(await settle(page)).toEqual({ confirmed: 0, ended: 1, kept: 0 })
      expect(await server.usage()).toEqual(NOTHING_USED)
    })

    it('by a timeout is ended', async () => {
      server.fail('hold')
      expect((await upload(page, { timeoutSeconds: 1 })).code).toBe('TIMEOUT')
      await expect.poll(() => server.usage()).toEqual(NOTHING_USED)
    })

    it('waits while the browser is offline', async () => {
      await context.setOffline(true)
      const waiting = upload(page)
      await expect.poll(() => page.evaluate(() => window.uploadStates)).toContain('waiting')
      await context.setOffline(false)
      const { code, states } = await waiting
      expect(code).toBeUndefined()
      expect(states).toEqual(['sending', 'waiting', 'sending', 'confirming'])
      expect(await server.usage()).toEqual(ONE_FILE)
    })
  })
}
