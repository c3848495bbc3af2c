import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Response } from 'express'
import fc from 'fast-check'
import { expect, it, type TestContext } from 'vitest'
import { until } from '../until.js'
import { bytesOf, content, cutOff, type Content } from './contents.js'
import { describeInEngines, PLAIN_HOST } from './engines/engines.js'
import type { Engine } from './engines/engine.js'
import { chooseFile, openEngineSession, outcomeOf, startUpload, untilLoaded } from './engines/session.js'

/** What the file becomes while the last call sends it, and how many of its PUTs the bucket reads before that. */
const change = fc.record({ content, puts: fc.integer({ min: 0, max: 5 }) })

await describeInEngines('a resumed upload', (engine) => {
  it.for(['127.0.0.1', PLAIN_HOST])(
    'at http://%s stores the file of the last call, byte for byte',
    async (host, test) => {
      const page = await openResumable(engine(), host, test)
      const { server, tab } = page
      const isSecure = await tab.evaluate(() => [!!crypto.subtle, 'locks' in navigator])
      expect(isSecure).toEqual(host === PLAIN_HOST ? [false, false] : [true, true])
      await fc.assert(
        fc.asyncProperty(
          fc.array(cutOff, { minLength: 1, maxLength: 2 }),
          content,
          fc.option(change),
          async (cutOffs, last, changed) => {
            for (const { content: each, held } of cutOffs) {
              await page.write(each)
              page.plan((index) => held.includes(index))
              await startUpload(tab, {})
              let isOver = false
              const over = outcomeOf(tab).then(
                () => (isOver = true),
                () => (isOver = true),
              )
              await until(() => isOver || page.isCut())
              await page.open()
              await over
            }
            await page.write(last)
            page.plan((index) => changed !== null && index >= changed.puts)
            await startUpload(tab, {})
            let isOver = false
            const outcome = outcomeOf(tab).finally(() => (isOver = true))
            if (changed) {
              await until(() => isOver || page.isCut())
              await page.write(changed.content, true)
              page.release()
            }
            const { result, key } = await outcome
            if (changed && result === 'FILE_UNREADABLE') return
            expect(result).toBe('active')
            const stored = await server.bytesOf(key!)
            const isWhole = [last, ...(changed ? [changed.content] : [])].some((one) =>
              stored.equals(bytesOf(one)),
            )
            expect(isWhole).toBe(true)
          },
        ),
        { numRuns: 5, endOnFailure: true },
      )
    },
  )
})

/** In seconds. */
const TIME = 1_700_000_000

/** Opens a session whose bucket holds parts, with a file on disk that the page has chosen. */
async function openResumable(engine: Engine, host: string, test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-contents-'))
  test.onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'film.mp4')
  const { server, tab } = await openEngineSession(engine, test)

  let isHeld: (index: number) => boolean = () => false
  let held: (() => void)[] = []
  let [begun, signed, arrived] = [0, 0, 0]
  server.lie((line, _call, res, serve) => {
    if (line === 'POST /multipart/parts') countParts(res, (count) => (signed += count))
    if (line === 'PUT') {
      res.on('finish', () => {
        if (res.statusCode === 200) arrived++
      })
      if (isHeld(begun++)) return void held.push(serve)
    }
    serve()
  })
  const open = async () => {
    await tab.goto(server.url.replace('127.0.0.1', host))
    await untilLoaded(tab)
  }
  await open()
  return {
    server,
    tab,
    open,
    /** Writes the file, always with the same time, so that no browser notices. Chooses it, unless it is written in place. */
    write: async (next: Content, isInPlace = false) => {
      if (!isInPlace) rmSync(file, { force: true })
      writeFileSync(file, bytesOf(next), { flag: isInPlace ? 'r+' : 'w' })
      utimesSync(file, TIME, TIME)
      if (!isInPlace) await chooseFile(tab, file)
    },
    /** Which of the parts that are sent next to hold, by the order in which they come. */
    plan: (next: (index: number) => boolean) => {
      isHeld = next
      held = []
      ;[begun, signed, arrived] = [0, 0, 0]
    },
    /** Whether all that has come and isn't held has arrived, and the held parts keep the others from coming. */
    isCut: () =>
      held.length > 0 && arrived + held.length === begun && (held.length === 4 || begun === signed),
    /** Serves what was held. */
    release: () => {
      isHeld = () => false
      for (const serve of held) serve()
    },
  }
}

/** Tells how many URLs a response has. */
function countParts(res: Response, tell: (count: number) => void): void {
  const end = res.end.bind(res) as (body: unknown) => Response
  res.end = ((body: unknown) => {
    const { parts = [] } = JSON.parse(String(body)) as { parts?: unknown[] }
    tell(parts.length)
    return end(body)
  }) as Response['end']
}
