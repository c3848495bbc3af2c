import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import axe from 'axe-core'
import { build } from 'esbuild'
import express from 'express'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, it } from 'vitest'
import { blocksOf } from '../integration/readme/documents.js'
import { findEnvironment } from '../package/environments.js'
import { startHttpServer } from '../servers/http-server.js'
import { findChromium, openContext, useBrowser } from './chromium.js'

const executablePath = await findChromium()
const { path, skipped } = await findEnvironment('pages')
const root = fileURLToPath(new URL('../..', import.meta.url))

const PAGES = {
  'a plain page': { entry: 'examples/uploads/plain.ts' },
  Vue: { entry: 'examples/uploads/vue.mjs' },
  React: { code: blocksOf('docs/upload-page.md', 'jsx')[0]! },
} satisfies Record<string, { entry: string } | { code: string }>

/** Bundles the script of a page as an application would. */
async function bundle(source: { entry: string } | { code: string }): Promise<string> {
  const { outputFiles } = await build({
    ...('entry' in source
      ? { entryPoints: [join(root, source.entry)] }
      : { stdin: { contents: source.code, loader: 'jsx' as const, resolveDir: root } }),
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    nodePaths: [join(path!, 'node_modules')],
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
    tsconfig: join(root, 'tsconfig.json'),
  })
  return outputFiles[0]!.text
}

/** Serves a page with its API. Files of more than 1000 bytes break its rules, and `hold` keeps bytes from arriving. */
async function servePage(script: string) {
  const held = { hold: false }
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    routes: { files: { maxFileSize: 1000 } },
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
  })
  const app = express()
  app.get('/', (_req, res) => {
    const head = '<!doctype html><html lang="en"><title>Files</title>'
    res.type('html').send(`${head}<main id="page"></main><script type="module" src="/page.js"></script>`)
  })
  app.get('/page.js', (_req, res) => void res.type('js').send(script))
  app.put('/{*path}', (_req, _res, next) => {
    if (!held.hold) next()
  })
  app.use(expressBinding(s3))
  return { ...(await startHttpServer((req, res) => void app(req, res))), held }
}

const file = (name: string, size: number, mimeType = 'text/plain') => ({
  ...{ name, mimeType, buffer: Buffer.alloc(size, 'x') },
})

describe.skipIf(executablePath === null || path === null)(`a page with a queue of uploads${skipped}`, () => {
  const browser = useBrowser(executablePath)
  let stop: () => Promise<void>
  afterEach(() => stop())

  async function open(name: keyof typeof PAGES) {
    const server = await servePage(await bundle(PAGES[name]))
    const context = await openContext(browser())
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', ({ message }) => complaints.push(message))
    stop = async () => {
      await context.close()
      await server.stop()
    }
    await page.goto(server.url)
    await page.getByLabel('Choose files').waitFor()
    const choose = (...files: ReturnType<typeof file>[]) =>
      page.getByLabel('Choose files').setInputFiles(files)
    return { page, choose, complaints, held: server.held }
  }

  it.each(['a plain page', 'Vue'] as const)(
    'in %s shows states, refusals, pause and resume',
    async (name) => {
      const { page, choose, complaints, held } = await open(name)
      held.hold = true
      await choose(file('a.txt', 10), file('large.txt', 1001))
      await page.getByText('large.txt: size must be at most 1000 bytes (got 1001).').waitFor()
      await page.getByText('a.txt: uploading').waitFor()
      await page.getByRole('button', { name: 'Pause all' }).click()
      await page.getByText('a.txt: paused').waitFor()
      held.hold = false
      await page.getByRole('button', { name: 'Resume all' }).click()
      await page.getByText('a.txt: done').waitFor()
      expect(await page.getByRole('status').textContent()).toBe('10 of 10 bytes')
      expect(complaints).toEqual([])
    },
  )

  it('in React also lists what is stored with pictures, and has nothing that axe finds', async () => {
    const { page, choose, complaints, held } = await open('React')
    held.hold = true
    await choose(file('a.png', 10, 'image/png'), file('large.txt', 1001))
    await page.getByRole('alert').getByText('large.txt: size must be at most 1000 bytes').waitFor()
    await page.getByText('a.png: uploading').waitFor()
    expect(await violations(page)).toEqual([])
    // By keyboard.
    await page.getByRole('button', { name: 'Pause all' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('a.png: paused').waitFor()
    held.hold = false
    await page.getByRole('button', { name: 'Resume all' }).click()
    await page.getByRole('link', { name: 'a.png' }).waitFor()
    await page.getByRole('status').getByText('1 stored, 1 open').waitFor()
    expect(await page.locator('img').getAttribute('src')).toMatch(/^\/api\/s3\/file\?id=/)
    expect(await violations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('in React takes dropped files and those in dropped folders, and leaves out dropped texts', async () => {
    const { page } = await open('React')
    const errors: string[] = []
    page.on('pageerror', ({ message }) => void errors.push(message))
    await page.getByRole('region', { name: 'Uploads' }).evaluate((section) => {
      const entryOf = (name: string) => ({
        isFile: true,
        file: (resolve: (file: File) => void) => resolve(new File(['x'], name)),
      })
      const batches = [[entryOf('b.txt'), entryOf('c.txt')], [entryOf('d.txt')], []]
      const reader = { readEntries: (resolve: (entries: object[]) => void) => resolve(batches.shift()!) }
      const entries = [null, entryOf('a.txt'), { isFile: false, createReader: () => reader }]
      const event = new DragEvent('drop', { bubbles: true, cancelable: true })
      // Scripts can't create a dropped folder.
      const items = entries.map((entry) => ({ webkitGetAsEntry: () => entry }))
      Object.defineProperty(event, 'dataTransfer', { value: { items } })
      section.dispatchEvent(event)
    })
    for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) await page.getByRole('link', { name }).waitFor()
    expect(errors).toEqual([])
  })
})

async function violations(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => window.axe.run())
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
}
