import { expect, it } from 'vitest'
import { until } from '../until.js'
import { describeOnSlowLines } from './engines/engines.js'
import { bytesOf, openEngineSession, upload } from './engines/session.js'
import { uploadAtOnce } from './engines/several-files.js'

await describeOnSlowLines('a slow line', (engine) => {
  it('behind a service worker that passes requests on carries a body for longer than `stallSeconds`', async (test) => {
    const { server, tab } = await openEngineSession(engine(), test, { bytesPerSecond: 500_000 })
    await tab.evaluate(() => void navigator.serviceWorker.register('/worker.js'))
    await until(() => tab.evaluate(() => navigator.serviceWorker.controller !== null))
    const size = 12_000_000
    const { result, key } = await upload(tab, { size, stallSeconds: 10 })
    expect(result).toBe('active')
    expect(server.toBucket).toHaveLength(1)
    expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
  })

  // Like six files of 33 MiB at 5 Mbit/s with the default of 30 seconds.
  it('carries six large files at once, whose requests wait for a connection for longer than `stallSeconds`', async (test) => {
    const { server, tab } = await openEngineSession(engine(), test, { bytesPerSecond: 3_000_000 })
    await uploadAtOnce(server, tab, { files: 6, size: 33 * 1024 ** 2, stallSeconds: 10 })
  })
})
