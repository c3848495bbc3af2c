import { expect, it, type TestContext } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import type { Tab } from './engines/engine.js'
import {
  bytesOf,
  openEngineSession,
  outcomeOf,
  startUpload,
  untilKept,
  untilLoaded,
  upload,
  type EngineSession,
  type Outcome,
} from './engines/session.js'

/** Three parts, the last of them small. */
const SIZE = 16 * 1024 ** 2 + 1000

await describeInEngines('a page that is left during an upload in parts', (engine, name) => {
  /** Starts an upload of which the bucket stores the first part, and holds the others. */
  async function halfSent(test: TestContext): Promise<EngineSession> {
    const session = await openEngineSession(engine(), test)
    const { server, tab } = session
    server.hold([2, 3])
    await startUpload(tab, { size: SIZE })
    await until(() => server.partsStored.length === 1 && server.partsSent.length === 3)
    await untilKept(tab)
    return session
  }

  /** Expects that the file is stored, as it is, and that no part was sent in vain. */
  async function expectResumed({ server }: EngineSession, { result, key }: Outcome): Promise<void> {
    expect(result).toBe('active')
    expect((await server.bytesOf(key!)).equals(bytesOf(SIZE))).toBe(true)
    expect(server.toAPI).not.toContain('POST /multipart/abort')
    expect([...server.partsSent].filter((part) => part === 1)).toEqual([1])
    expect(await server.usage()).toMatchObject({ bytes: SIZE, files: 1, reservedFiles: 0 })
  }

  it.for<[string, (tab: Tab) => Promise<void>]>([
    ['a reload', (tab) => tab.reload()],
    ['a link', (tab) => tab.begin(() => location.assign('/elsewhere'))],
    ['closing the tab', (tab) => tab.close()],
  ])('by %s sends only the missing parts when the file is uploaded again', async ([, leave], test) => {
    const session = await halfSent(test)
    const other = await session.profile.openTab(`${session.server.url}/elsewhere`)
    await leave(session.tab)
    await other.goto(session.server.url)
    await untilLoaded(other)
    // An abort would come after the page has gone.
    await until(async () => (await other.evaluate(() => navigator.locks.query())).held!.length === 0)
    session.server.hold([])
    await expectResumed(session, await upload(other, { size: SIZE }))
  })

  it('and shown again by "back" goes on, or sends only the missing parts', async (test) => {
    const session = await halfSent(test)
    const { server, tab } = session
    await tab.evaluate(() => {
      addEventListener('pageshow', ({ persisted }) => Object.assign(window, { isShownAgain: persisted }))
    })
    await tab.begin(() => location.assign('/elsewhere'))
    await until(() => tab.evaluate(() => location.pathname === '/elsewhere').catch(() => false))
    server.hold([])
    await tab.begin(() => history.back())
    await until(() => tab.evaluate(() => 'client' in window).catch(() => false))
    const isShownAgain = await tab.evaluate(() => 'isShownAgain' in window)
    // The others load a page again that holds a lock.
    expect(isShownAgain).toBe(name === 'WebKit')
    await expectResumed(session, isShownAgain ? await outcomeOf(tab) : await upload(tab, { size: SIZE }))
  })
})
