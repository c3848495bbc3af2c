import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock, MINUTE } from '../conformance/clock.js'
import { startHttpServer } from '../servers/http-server.js'
import { openContext } from './chromium.js'
import { picture } from './pictures.js'

const COUNT = 8

/** Starts a server with pictures of ann, and a page that shows all of them. */
async function startGallery() {
  const clock = new ManualClock()
  const { now } = clock
  const asked: string[] = []
  const s3 = createS3Server({
    storage: memoryStorage({ now }),
    bucket: 'files',
    now,
    plugins: [
      db({
        client: memoryAdapter({ now }),
        now,
        resolveScope: ({ headers }) => /\buser=(\w+)/.exec(headers.get('cookie') ?? '')?.[1],
        mayRead: (object, { scope, operation }) => {
          asked.push(`${scope} ${operation} ${object.key}`)
          return scope === 'bob'
        },
      }),
    ],
  })
  /** The paths of all requests for bytes. */
  const loaded: string[] = []
  const files: number[] = []
  let keys: readonly string[] = []
  const app = express()
  app.use((req, res, next) => {
    if (req.path.startsWith('/api/s3/_storage/') && req.method === 'GET') loaded.push(req.path)
    if (req.path === '/api/s3/file') res.on('finish', () => files.push(res.statusCode))
    next()
  })
  app.use(expressBinding(s3))
  app.get('/', (_req, res) => {
    const images = keys.map((key) => `<img src="${api.fileURL({ key, disposition: 'inline' })}">`)
    res.type('html').send(`<!doctype html><title>Pictures</title>${images.join('')}`)
  })
  const { url, stop } = await startHttpServer((req, res) => void app(req, res))
  onTestFinished(stop)
  const { api } = createS3Client({ baseURL: url, headers: { cookie: 'user=ann' }, plugins: [dbClient()] })
  const sources = Array.from(
    { length: COUNT },
    (_, red) => new Blob([new Uint8Array(picture(4, 4, [red, 0, 0]))]),
  )
  const uploaded = await Promise.all(
    sources.map((blob, index) => api.upload(new File([blob], `${index}.png`, { type: 'image/png' }))),
  )
  keys = uploaded.map(({ key }) => key)
  return { url, clock, asked, loaded, files, keys }
}

async function shownPictures(page: Page): Promise<number> {
  return page.evaluate(() => [...document.images].filter(({ naturalWidth }) => naturalWidth === 4).length)
}

export const pagesOfPictures = (browser: () => Browser): void => {
  describe('a page of pictures', () => {
    async function visit(user: string, url: string) {
      const context = await openContext(browser())
      onTestFinished(() => context.close())
      await context.addCookies([{ name: 'user', value: user, url }])
      return async () => {
        const page = await context.newPage()
        await page.goto(url, { waitUntil: 'load' })
        const shown = await shownPictures(page)
        await page.close()
        return shown
      }
    }

    it.each(['ann', 'bob'])(
      'loads each picture once, and checks the rights of %s each time',
      async (user) => {
        const { url, clock, asked, loaded, files, keys } = await startGallery()
        const open = await visit(user, url)
        expect(await open()).toBe(COUNT)
        expect([loaded.length, files.length]).toEqual([COUNT, COUNT])
        clock.advance(4 * MINUTE)
        expect(await open()).toBe(COUNT)
        expect([loaded.length, files.length]).toEqual([COUNT, 2 * COUNT])
        expect(new Set(files)).toEqual(new Set([302]))
        const expected = user === 'ann' ? [] : [...keys, ...keys].map((key) => `bob file ${key}`)
        expect([...asked].sort()).toEqual(expected.sort())

        // The next third of the lifetime has other URLs.
        clock.advance(MINUTE)
        expect(await open()).toBe(COUNT)
        expect(loaded.length).toBe(2 * COUNT)
        expect(new Set(loaded).size).toBe(2 * COUNT)
      },
    )

    it('shows no picture to a caller who may not read it', async () => {
      const { url, asked, loaded, files } = await startGallery()
      const open = await visit('eve', url)
      expect(await open()).toBe(0)
      expect([loaded.length, asked.length]).toEqual([0, COUNT])
      expect(new Set(files)).toEqual(new Set([404]))
    })
  })
}
