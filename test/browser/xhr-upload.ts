import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as clientExports from '@svc/db/client'
import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { throttle, useBrowserSessions } from './browser-session.js'
import { startClientPage, type ClientPage, type PolicyOf } from './client-page.js'

declare global {
  interface Window {
    client: typeof clientExports
  }
}

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

/** The result of an upload in the page. */
interface Outcome {
  readonly object?: clientExports.DbClientObject
  readonly code?: string
  readonly message?: string
  readonly steps: readonly clientExports.UploadProgress[]
}

interface UploadPlan {
  readonly size: number
  /** What to do at the first progress event. */
  readonly atFirst?: 'abort' | 'throw'
}

export const xhrUploads = (browser: () => Browser): void => {
  describe('an upload with XMLHttpRequest', () => {
    const startSession = useBrowserSessions(browser)
    let server: ClientPage
    let page: Page

    beforeEach(async () => {
      ;({ server, page } = await startSession())
    })

    function upload(plan: UploadPlan): Promise<Outcome> {
      return page.evaluate(async ({ size, atFirst }): Promise<Outcome> => {
        const { api } = window.client.createS3Client({
          plugins: [],
          headers: { 'x-user': 'ada', authorization: 'Bearer secret' },
          credentials: 'include',
        })
        const controller = new AbortController()
        const steps: clientExports.UploadProgress[] = []
        const onProgress = (step: clientExports.UploadProgress) => {
          steps.push(step)
          if (atFirst === 'abort') controller.abort()
          if (atFirst === 'throw') throw new Error('The progress bar is gone.')
        }
        const file = new File([new Uint8Array(size).fill(7)], 'ä.bin', { type: 'text/plain;charset=utf-8' })
        return api.upload(file, { onProgress, signal: controller.signal }).then(
          (object) => ({ object, steps }),
          ({ code, message }: clientExports.S3ClientError) => ({ code, message, steps }),
        )
      }, plan)
    }

    it("needs the bucket's origin in the connect-src of a Content-Security-Policy", async () => {
      const openWith = async (policyOf: PolicyOf) => {
        const own = await startClientPage({ policyOf })
        onTestFinished(() => own.stop())
        await page.goto(own.url)
        await page.waitForFunction(() => 'client' in window)
        return own
      }
      const policy = "default-src 'none'; script-src 'unsafe-inline'; connect-src 'self'"
      const { toBucket } = await openWith(() => policy)
      const blocked = page.evaluate(
        () =>
          new Promise<string>((resolve) =>
            addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)),
          ),
      )
      void upload({ size: 3 }).catch(() => {})
      expect(await blocked).toBe('connect-src')
      expect(toBucket).toEqual([])

      await openWith((bucketOrigin) => `${policy} ${bucketOrigin}`)
      expect((await upload({ size: 3 })).object).toMatchObject({ status: 'active', size: 3 })
    })

    it('reports progress in bytes up to the total', async () => {
      await throttle(page, 1_000_000)
      const { object, steps } = await upload({ size: 500_000 })
      expect(object).toMatchObject({ status: 'active', filename: 'ä.bin', size: 500_000 })
      const loaded = steps.map((step) => step.loaded)
      expect(loaded.some((bytes) => bytes > 0 && bytes < 500_000)).toBe(true)
      expect(loaded).toEqual([...new Set(loaded)].sort((a, b) => a - b))
      expect(steps.at(-1)).toEqual({ loaded: 500_000, total: 500_000 })
      expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 500_000, files: 1 })
    })

    it('accepts an empty file', async () => {
      const { object, steps } = await upload({ size: 0 })
      expect(object).toMatchObject({ status: 'active', size: 0 })
      expect(steps).toEqual([{ loaded: 0, total: 0 }])
    })

    it('sends only the signed headers to the bucket, no headers and cookies of the application', async () => {
      expect((await upload({ size: 3 })).object).toBeDefined()
      expect(server.toBucket).toHaveLength(1)
      expect(server.toBucket[0]).toMatchObject({
        'content-type': 'text/plain;charset=utf-8',
        'if-none-match': '*',
        'content-length': '3',
        'x-amz-meta-attempt-id': expect.any(String) as string,
      })
      for (const name of ['cookie', 'authorization', 'x-user'])
        expect(server.toBucket[0]).not.toHaveProperty(name)
    })

    it('aborts the attempt when it is aborted', async () => {
      await throttle(page, 1_000_000)
      const { code, steps } = await upload({ size: 4_000_000, atFirst: 'abort' })
      expect(code).toBe('ABORTED')
      expect(steps).toHaveLength(1)
      await expect.poll(() => server.usage()).toEqual(NOTHING_USED)
    })

    it('aborts the attempt and rejects with the error of onProgress', async () => {
      await throttle(page, 1_000_000)
      const { message, steps } = await upload({ size: 4_000_000, atFirst: 'throw' })
      expect(message).toBe('The progress bar is gone.')
      expect(steps).toHaveLength(1)
      expect(await server.usage()).toEqual(NOTHING_USED)
    })

    it('ends a PUT without a response, and sends the bytes again', async () => {
      await page.clock.install()
      server.fail('hold')
      const uploading = upload({ size: 1000 })
      await expect.poll(() => server.toBucket.length).toBe(1)
      server.fail('none')
      await page.clock.fastForward(31_000)
      expect((await uploading).object).toMatchObject({ status: 'active', size: 1000 })
      expect(server.toBucket).toHaveLength(2)
    })

    it('refuses a file that has changed on disk, and a folder, before it reserves anything', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'svc-db-unreadable-'))
      onTestFinished(() => rmSync(directory, { recursive: true }))
      const changed = join(directory, 'log.txt')
      writeFileSync(changed, 'one')
      await page.evaluate(() => {
        document.documentElement.innerHTML = '<body style="height: 99px"><input type="file"></body>'
        addEventListener('dragover', (event) => event.preventDefault())
        addEventListener('drop', (event) => {
          event.preventDefault()
          Object.assign(window, { dropped: event.dataTransfer?.files[0] })
        })
      })
      await page.setInputFiles('input', changed)
      // Until it is read for the first time, a browser may not have noted its size.
      await page.evaluate(() => document.querySelector('input')!.files![0]!.text())
      writeFileSync(changed, 'one and more')
      const session = await page.context().newCDPSession(page)
      const data = { items: [], files: [directory], dragOperationsMask: 1 }
      for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
        await session.send('Input.dispatchDragEvent', { type, x: 9, y: 50, data })
      }
      await page.waitForFunction(() => 'dropped' in window)
      const codes = await page.evaluate(async () => {
        const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
        const { dropped } = window as unknown as { dropped: File }
        const files = [document.querySelector('input')!.files![0]!, dropped]
        const code = (file: File) =>
          api.upload(file).catch((error: clientExports.S3ClientError) => error.code)
        return Promise.all(files.map(code))
      })
      expect(codes).toEqual(['FILE_UNREADABLE', 'FILE_UNREADABLE'])
      expect(server.toAPI.filter((line) => line.startsWith('POST'))).toEqual([])
    })

    it('resolves when the connection closes after the bytes have arrived', async () => {
      server.fail('cut after')
      const uploading = upload({ size: 1000 })
      await expect.poll(() => server.toBucket.length).toBeGreaterThan(0)
      server.fail('none')
      const { object, steps } = await uploading
      expect(object).toMatchObject({ status: 'active', size: 1000 })
      expect(steps.at(-1)).toEqual({ loaded: 1000, total: 1000 })
    })
  })
}
