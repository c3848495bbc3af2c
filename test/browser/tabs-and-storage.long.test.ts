import { expect, it } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import { bytesOf, openEngineSession, outcomeOf, settle, startUpload, upload } from './engines/session.js'

const IN_PARTS = 16 * 1024 ** 2 + 1000
const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

await describeInEngines('uploads of two tabs', (engine) => {
  it('of the same file at once create two objects', async (test) => {
    const { server, tab, openTab } = await openEngineSession(engine(), test)
    const tabs = [tab, await openTab()]
    for (const each of tabs) await startUpload(each, { size: IN_PARTS })
    const outcomes = await Promise.all(tabs.map(outcomeOf))
    for (const { result, key } of outcomes) {
      expect(result).toBe('active')
      expect((await server.bytesOf(key!)).equals(bytesOf(IN_PARTS))).toBe(true)
    }
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 2 * IN_PARTS, files: 2 })
  })

  it('are left alone by the other tab, which settles them once their tab is closed', async (test) => {
    const { server, tab, openTab } = await openEngineSession(engine(), test)
    const other = await openTab()
    server.fail('hold')
    await startUpload(tab, { size: 1000 })
    await until(() => server.toBucket.length === 1)
    expect(await settle(other)).toEqual({ confirmed: 0, ended: 0, kept: 1 })
    expect(await server.usage()).toMatchObject({ reservedFiles: 1 })
    await tab.close()
    await until(async () => (await settle(other)).ended === 1)
    expect(await server.usage()).toEqual(NOTHING_USED)
  })
})

await describeInEngines('a page whose storage is blocked', (engine) => {
  it.for([1000, IN_PARTS])('uploads a file of %i bytes', async (size, test) => {
    const { server, tab } = await openEngineSession(engine(), test)
    await tab.evaluate(() => {
      const get = () => {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      }
      Object.defineProperty(window, 'localStorage', { get })
    })
    const { result, key } = await upload(tab, { size })
    expect(result).toBe('active')
    expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: size, files: 1 })
  })
})
