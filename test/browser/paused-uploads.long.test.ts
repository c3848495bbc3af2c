import { expect, it, type TestContext } from 'vitest'
import { until } from '../until.js'
import type { Tab } from './engines/engine.js'
import { describeInEngines } from './engines/engines.js'
import { bytesOf, openEngineSession, untilKept, untilLoaded, type EngineSession } from './engines/session.js'
import { addFiles, call, snapshotOf, untilStates } from './queue-page.js'

/** Three parts, the last of them small. */
const SIZE = 16 * 1024 ** 2 + 1000

await describeInEngines('a paused upload', (engine) => {
  /** Pauses an upload of which the bucket has the first part, and holds the others. */
  async function pausedHalfway(test: TestContext): Promise<EngineSession> {
    const session = await openEngineSession(engine(), test)
    const { server, tab } = session
    server.hold([2, 3])
    await addFiles(tab, { count: 1, size: SIZE })
    await until(() => server.partsStored.length === 1 && server.partsSent.length === 3)
    await untilKept(tab)
    await call(tab, 'pause')
    await untilStates(tab, ['paused'])
    server.hold([])
    return session
  }

  /** Expects that the file is stored, as it is, and that no part was sent in vain. */
  async function expectStored({ server }: EngineSession, tab: Tab): Promise<void> {
    await untilStates(tab, ['done'])
    const [item] = (await snapshotOf(tab)).items
    expect((await server.bytesOf(item!.object!.key)).equals(bytesOf(SIZE))).toBe(true)
    expect(server.toAPI).not.toContain('POST /multipart/abort')
    expect(server.partsSent.filter((part) => part === 1)).toEqual([1])
    expect(await server.usage()).toMatchObject({ bytes: SIZE, files: 1, reservedFiles: 0 })
  }

  it('in parts stays reserved, and goes on with the missing parts', async (test) => {
    const session = await pausedHalfway(test)
    expect(await session.server.usage()).toMatchObject({ reservedBytes: SIZE, reservedFiles: 1 })
    await call(session.tab, 'resume')
    await expectStored(session, session.tab)
  })

  it('in parts goes on after a reload, once the file is added again', async (test) => {
    const session = await pausedHalfway(test)
    const { tab } = session
    await tab.reload()
    await untilLoaded(tab)
    await addFiles(tab, { count: 1, size: SIZE })
    await expectStored(session, tab)
  })

  it('in parts goes on in another tab, after its own was closed', async (test) => {
    const session = await pausedHalfway(test)
    const other = await session.openTab()
    await session.tab.close()
    await until(async () => (await other.evaluate(() => navigator.locks.query())).held!.length === 0)
    await addFiles(other, { count: 1, size: SIZE })
    await expectStored(session, other)
  })

  it('in parts is not ended by a cancel while another tab goes on with it', async (test) => {
    const { server, tab, openTab } = await pausedHalfway(test)
    let complete: (() => void) | undefined
    server.lie((line, _call, _res, serve) => {
      if (line === 'POST /multipart/complete') complete = serve
      else serve()
    })
    const other = await openTab()
    await addFiles(other, { count: 1, size: SIZE })
    await until(() => complete !== undefined)
    await call(tab, 'cancel')
    await call(tab, 'resume')
    // This upload begins once the client has looked for what the cancelled one has left.
    await addFiles(tab, { count: 1, size: 1000 })
    await untilStates(tab, ['failed', 'done'])
    complete!()
    await untilStates(other, ['done'])
    expect(server.toAPI).not.toContain('POST /multipart/abort')
    expect(await server.usage()).toMatchObject({ bytes: SIZE + 1000, files: 2, reservedFiles: 0 })
  })

  it('in one PUT begins again', async (test) => {
    const { server, tab } = await openEngineSession(engine(), test)
    server.fail('hold')
    await addFiles(tab, { count: 1, size: 1000 })
    await until(() => server.toBucket.length === 1)
    await call(tab, 'pause')
    await until(async () => ((await server.usage()) as { reservedFiles: number }).reservedFiles === 0)
    server.fail('none')
    await call(tab, 'resume')
    await untilStates(tab, ['done'])
    expect(await server.usage()).toMatchObject({ files: 1, reservedFiles: 0 })
  })
})
