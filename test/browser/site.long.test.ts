import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import express from 'express'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDocuments } from '../integration/readme/documents.js'
import { repository, runProgram, runProgramWith } from '../package/programs.js'
import { startHttpServer, type HttpServer } from '../servers/http-server.js'
import { findChromium, openContext, useBrowser } from './chromium.js'

const executablePath = await findChromium()
const site = join(repository, 'site/dist')
const REPOSITORY = 'https://github.com/example/files'

/** The start page, tables, long code, a long page, and a page of each kind of the reference. */
const PAGES = [
  '/',
  '/docs/concepts.html',
  '/docs/getting-started.html',
  '/CHANGELOG.html',
  '/reference/',
  '/reference/db/',
  '/reference/db/functions/createS3Server.html',
  '/reference/db/interfaces/StorageObjectStore.html',
  '/reference/db/interfaces/DbOptions.html',
]

beforeAll(async () => {
  const environment = { GITHUB_REPOSITORY: 'example/files', GITHUB_SERVER_URL: 'https://github.com' }
  const { exitCode, output } = await runProgramWith(environment, repository, 'npm', 'run', 'docs')
  expect(exitCode, output).toBe(0)
})

describe('the built site', () => {
  it('has a page for each Markdown file, at its path', () => {
    const addresses = readDocuments().map(({ path }) =>
      path === 'README.md' ? 'index.html' : path.replace(/\.md$/, '.html'),
    )
    expect(addresses.filter((path) => !existsSync(join(site, path)))).toEqual([])
  })

  it('lists every page in llms.txt, with the Markdown of each', () => {
    const listed = readFileSync(join(site, 'llms.txt'), 'utf8')
    const paths = [...listed.matchAll(/\]\(\/([^)]+)\)/g)].map(([, path]) => path!)
    expect(paths.filter((path) => !existsSync(join(site, path)))).toEqual([])
    const pages = readDocuments().map(({ path }) => path)
    expect([...new Set(paths)].sort()).toEqual([...pages, 'reference/index.md'].sort())
  })
})

describe('broken-links.mjs', () => {
  it('names links to a page, a file and a heading that do not exist', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-site-'))
    const links = [
      'a.html',
      'a.html#there',
      '#here',
      'https://example.com/x',
      'b.html',
      'a.html#gone',
      '/c.png',
    ]
    writeFileSync(
      join(folder, 'index.html'),
      links.map((link) => `<a id="here" href="${link}">x</a>`).join('\n'),
    )
    writeFileSync(join(folder, 'a.html'), '<h1 id="there">A</h1>')
    const { exitCode, output } = await runProgram(
      repository,
      process.execPath,
      'site/broken-links.mjs',
      folder,
    )
    rmSync(folder, { recursive: true })
    expect(exitCode).toBe(1)
    expect(output.trim().split('\n')).toEqual([
      'index.html: b.html',
      'index.html: a.html#gone',
      'index.html: /c.png',
    ])
  })
})

describe.skipIf(executablePath === null)('the site in Chromium', () => {
  const browser = useBrowser(executablePath)
  let server: HttpServer

  beforeAll(async () => {
    server = await startHttpServer(express().use(express.static(site)))
  })
  afterAll(() => server.stop())

  async function open(path: string, width = 1400, colorScheme: 'light' | 'dark' = 'light') {
    const context = await openContext(browser(), { viewport: { width, height: 900 }, colorScheme })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(server.url + path, { waitUntil: 'networkidle' })
    return { page, complaints, close: () => context.close() }
  }

  describe.each([400, 1400])('%i pixels wide', (width) => {
    it.each(PAGES.flatMap((path) => (['light', 'dark'] as const).map((colours) => ({ path, colours }))))(
      'shows $path in $colours colours without a finding of axe',
      async ({ path, colours }) => {
        const { page, complaints, close } = await open(path, width, colours)
        expect(await violations(page)).toEqual([])
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect(overflow).toBe(0)
        expect(complaints).toEqual([])
        await close()
      },
    )
  })

  it('links to the source of a page for a change, and not of the reference', async () => {
    const edit = (page: Page) => page.getByRole('link', { name: 'Edit this page' })
    const { page, close } = await open('/docs/quotas.html')
    expect(await edit(page).getAttribute('href')).toBe(`${REPOSITORY}/edit/main/docs/quotas.md`)
    await page.goto(`${server.url}/reference/db/functions/cleanUp.html`)
    expect(await edit(page).count()).toBe(0)
    await close()
  })

  it('finds pages and functions by their text', async () => {
    const { page, close } = await open('/')
    for (const [text, address] of [
      ['legal hold', /custom-routes/],
      ['createObjectAccessGuard', /reference|custom-routes/],
    ] as const) {
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').or(page.locator('#localsearch-input')).first().fill(text)
      await page.locator('.results .result').first().waitFor()
      const addresses = await page
        .locator('.results .result')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
      expect(addresses.join('\n')).toMatch(address)
      await page.keyboard.press('Escape')
    }
    await close()
  })
})

/** Returns the rules that the page breaks, with the elements. */
async function violations(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate(() => window.axe.run())
  return found.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html.slice(0, 200)) }))
}
