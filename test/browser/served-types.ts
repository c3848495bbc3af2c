import { createAttemptId, createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startHttpServer } from '../servers/http-server.js'
import { openContext } from './chromium.js'

const SCRIPT = `top.document.title = 'script has run'`
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}; document.documentElement.setAttribute('ran', '')</script></svg>`

/** Headers of a bucket's response that the test replaces. An empty value removes the header. */
type Replaced = Readonly<Record<string, string>>

/** Stores a file in a server whose pages permit scripts of their own origin, and returns a download URL of that origin. */
async function served(text: string, contentType: string, replaced: Replaced = {}) {
  const storage = memoryStorage()
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

/** Memory and disk storage build the headers in one place, so one of them is enough. */
export const servedTypes = (browser: () => Browser): void => {
  describe('a browser with files of memoryStorage', () => {
    async function newPage(): Promise<Page> {
      const context = await openContext(browser())
      onTestFinished(() => context.close())
      return context.newPage()
    }

    it.each([
      ['does not run a file of type text/javascript as a script', 'text/javascript', {}, 'quiet'],
      [
        'does not run a file of another such type as a script',
        'Application/X-JavaScript; charset=utf-8',
        {},
        'quiet',
      ],
      [
        'would run it under its own type',
        'text/javascript',
        { 'content-type': 'text/javascript' },
        'script has run',
      ],
    ])('%s', async (_title, contentType, replaced, title) => {
      const { origin, url } = await served(SCRIPT, contentType, replaced)
      const page = await newPage()
      await page.goto(`${origin}/?script=${encodeURIComponent(url)}`)
      expect(await page.title()).toBe(title)
    })

    it.each(['text/plain;a=",text/html"', 'text/plain;a=",text/html;charset=utf-8,"'])(
      'does not read another type in a quoted parameter of %s',
      async (contentType) => {
        const { url } = await served('<title>HTML</title>', contentType, { 'content-disposition': '' })
        const page = await newPage()
        const response = await page.goto(url)
        expect(response!.headers()['content-type']).toBe(contentType)
        expect(await page.evaluate('document.contentType')).toBe('text/plain')
      },
    )

    it.each([
      ['does not run scripts of an SVG image that it opens', {}, false],
      ['would run them without the sandbox', { 'content-security-policy': '' }, true],
    ])('%s', async (_title, replaced, hasRun) => {
      // Files are sent as attachments. Without that header, a browser shows the image.
      const { url } = await served(SVG, 'image/svg+xml', { 'content-disposition': '', ...replaced })
      const page = await newPage()
      const response = await page.goto(url)
      expect(response!.headers()['content-type']).toBe('image/svg+xml')
      expect(await page.locator('svg').evaluate((svg) => svg.hasAttribute('ran'))).toBe(hasRun)
    })
  })
}
