import { createAttemptId, createS3Server, db, memoryStorage, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startHttpServer } from '../servers/http-server.js'
import { temporaryFolder } from '../unit/storage/temporary-folder.js'
import { openContext } from './chromium.js'

const SCRIPT = `top.document.title = 'script has run'`
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}; document.documentElement.setAttribute('ran', '')</script></svg>`

const storages: readonly [name: string, open: () => ObjectStorage][] = [
  ['memoryStorage', () => memoryStorage()],
  ['diskStorage', () => diskStorage({ directory: temporaryFolder() })],
]

/** Headers of a bucket's response that the test replaces. An empty value removes the header. */
type Replaced = Readonly<Record<string, string>>

/** Stores a file in a server whose pages permit scripts of their own origin, and returns a download URL of that origin. */
async function served(storage: ObjectStorage, text: string, contentType: string, replaced: Replaced = {}) {
  const app = express()
  app.get('/', (req, res) => {
    const { script } = req.query
    const source = typeof script === 'string' ? script : ''
    res.set('content-security-policy', `default-src 'none'; script-src 'self'`)
    res.send(`<!doctype html><title>quiet</title><script src="${source}"></script>`)
  })
  app.use((_req, res, next) => {
    const original = res.setHeader.bind(res)
    res.setHeader = (name, value) => {
      const replacement = replaced[name.toLowerCase()]
      return replacement === '' ? res : original(name, replacement ?? value)
    }
    next()
  })
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })] as const
  app.use(expressBinding(createS3Server({ storage, bucket: 'files', plugins })))
  const { url: origin, stop } = await startHttpServer((req, res) => void app(req, res))
  onTestFinished(stop)

  const at = {
    bucket: 'files',
    key: 'a',
    expiresAt: new Date(Date.now() + 60_000),
    serverURL: `${origin}/api/s3/_storage`,
  }
  const upload = await storage.signUpload({
    ...at,
    size: text.length,
    contentType,
    attemptId: createAttemptId(),
  })
  expect((await fetch(upload.url, { ...upload, body: text })).status).toBe(200)
  const { url } = await storage.signDownload({ ...at, filename: 'a', contentType })
  return { origin, url }
}

export const servedTypes = (browser: () => Browser): void => {
  describe.each(storages)('a browser with files of %s', (_, open) => {
    async function newPage(): Promise<Page> {
      const context = await openContext(browser())
      onTestFinished(() => context.close())
      return context.newPage()
    }

    async function titleWithScript(contentType: string, replaced?: Replaced): Promise<string> {
      const { origin, url } = await served(open(), SCRIPT, contentType, replaced)
      const page = await newPage()
      await page.goto(`${origin}/?script=${encodeURIComponent(url)}`)
      return page.title()
    }

    it.each(['text/javascript', 'Application/X-JavaScript; charset=utf-8'])(
      'does not run a file of type %s as a script',
      async (contentType) => {
        expect(await titleWithScript(contentType)).toBe('quiet')
      },
    )

    it('would run it under its own type', async () => {
      expect(await titleWithScript('text/javascript', { 'content-type': 'text/javascript' })).toBe(
        'script has run',
      )
    })

    it.each(['text/plain;a=",text/html"', 'text/plain;a=",text/html;charset=utf-8,"'])(
      'does not read another type in a quoted parameter of %s',
      async (contentType) => {
        const { url } = await served(open(), '<title>HTML</title>', contentType, {
          'content-disposition': '',
        })
        const page = await newPage()
        const response = await page.goto(url)
        expect(response!.headers()['content-type']).toBe(contentType)
        expect(await page.evaluate('document.contentType')).toBe('text/plain')
      },
    )

    /** Opens an SVG image as a page, and returns whether its script has run. */
    async function runsScript(replaced: Replaced): Promise<boolean> {
      // Files are sent as attachments. Without that header, a browser shows the image.
      const { url } = await served(open(), SVG, 'image/svg+xml', { 'content-disposition': '', ...replaced })
      const page = await newPage()
      const response = await page.goto(url)
      expect(response!.headers()['content-type']).toBe('image/svg+xml')
      expect(await page.locator('svg').count()).toBe(1)
      return page.locator('svg').evaluate((svg) => svg.hasAttribute('ran'))
    }

    it('does not run scripts of an SVG image that it opens', async () => {
      expect(await runsScript({})).toBe(false)
    })

    it('would run them without the sandbox', async () => {
      expect(await runsScript({ 'content-security-policy': '' })).toBe(true)
    })
  })
}
