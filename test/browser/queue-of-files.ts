import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { until } from '../until.js'
import { throttle, useBrowserSessions } from './browser-session.js'
import type { ClientPage } from './client-page.js'
import { addFiles, call, snapshotOf, untilStates } from './queue-page.js'

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

export const queuesOfFiles = (browser: () => Browser): void => {
  describe('a queue of files', () => {
    const startSession = useBrowserSessions(browser)
    let server: ClientPage
    let page: Page

    beforeEach(async () => {
      ;({ server, page } = await startSession())
    })

    it('uploads 40 files, one of which is refused, cancels all and retries all', async () => {
      server.lie((line, call, res, serve) => {
        if (line !== 'POST /upload' || call !== 20) return serve()
        res.status(403).json({ code: 'FORBIDDEN', message: 'No.' })
      })
      await addFiles(page, { count: 40, size: 1000 })
      await until(async () => {
        const { items } = await snapshotOf(page)
        return items.every(({ state }) => state === 'done' || state === 'failed')
      })
      const { items, size, loaded, secondsLeft } = await snapshotOf(page)
      expect(items.filter(({ state }) => state === 'failed')).toHaveLength(1)
      expect({ size, loaded, secondsLeft }).toEqual({ size: 39_000, loaded: 39_000, secondsLeft: 0 })
      server.fail('hold')
      await addFiles(page, { count: 40, size: 1000 })
      await until(() => server.toBucket.length === 42)
      await call(page, 'cancel')
      await until(async () => ((await server.usage()) as { reservedFiles: number }).reservedFiles === 0)
      server.fail('none')
      await call(page, 'retry')
      await untilStates(page, Array<string>(80).fill('done'))
      expect(await server.usage()).toMatchObject({ files: 80, reservedFiles: 0 })
    })

    it('tells how long the rest takes, and its listeners of each step', async () => {
      await throttle(page, 400_000)
      await addFiles(page, { count: 1, size: 1_500_000 })
      await until(async () => ((await snapshotOf(page)).secondsLeft ?? 0) > 0)
      await untilStates(page, ['done'])
      expect(await page.evaluate(() => window.heard)).toBeGreaterThan(2)
    })

    it('fails the files that wait once another account is signed in', async () => {
      let answer: (() => void) | undefined
      server.lie((line, _call, _res, serve) => {
        if (line === 'GET /upload/rules') answer = serve
        else serve()
      })
      await addFiles(page, { count: 5, size: 1000 })
      await until(() => answer !== undefined)
      await page.evaluate(() => void (window.signedIn = 'bob'))
      answer!()
      await untilStates(page, Array<string>(5).fill('failed'))
      expect((await snapshotOf(page)).items[0]!.error).toMatchObject({ code: 'ABORTED' })
      expect(server.toAPI).not.toContain('POST /upload')
    })

    it('pauses files in one PUT, whose room is free then, and goes on', async () => {
      server.fail('hold')
      await addFiles(page, { count: 5, size: 1000 })
      await until(() => server.toBucket.length === 3)
      await call(page, 'pause')
      await untilStates(page, Array<string>(5).fill('paused'))
      await expect.poll(() => server.usage()).toEqual(NOTHING_USED)
      server.fail('none')
      await call(page, 'resume')
      await untilStates(page, Array<string>(5).fill('done'))
      expect(await server.usage()).toMatchObject({ files: 5, reservedFiles: 0 })
    })
  })
}
