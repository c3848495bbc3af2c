import { expect, it } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import { bytesOf, openEngineSession, untilLoaded, upload } from './engines/session.js'

await describeInEngines('a slow line', (engine) => {
  it('behind a service worker carries a body for longer than `stallSeconds`', async () => {
    const { server, tab } = await openEngineSession(engine(), { bytesPerSecond: 2_000_000 })
    await tab.evaluate(() => void navigator.serviceWorker.register('/worker.js'))
    await until(() => tab.evaluate(() => navigator.serviceWorker.controller !== null))
    const size = 12_000_000
    const { result, key } = await upload(tab, { size, stallSeconds: 2 })
    expect(result).toBe('active')
    expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
    expect(server.toBucket).toHaveLength(1)
  })

  // As six files of 33 MiB at 5 Mbit/s are to the 30 seconds of the default: a request waits for a connection for longer than it may be silent.
  it('carries several large files at once, whose requests wait longer than `stallSeconds` for a connection', async () => {
    const { server, tab } = await openEngineSession(engine(), { bytesPerSecond: 12_500_000 })
    const results = await tab.evaluate(async () => {
      const { api } = window.client.createS3Client({
        plugins: [],
        headers: { 'x-user': 'ada' },
        stallSeconds: 1.5,
      })
      const files = Array.from({ length: 6 }, (_, index) => {
        const bytes = new Uint8Array(33 * 1024 ** 2).fill(index)
        return new File([bytes], `${index}.bin`)
      })
      return Promise.all(files.map((file) => api.upload(file).then(({ status }) => status, String)))
    })
    expect(results).toEqual(Array.from({ length: 6 }, () => 'active'))
    expect([...server.partsStored].sort().join()).toBe(
      [1, 2, 3, 4, 5].flatMap((part) => Array(6).fill(part) as number[]).join(),
    )
  })
})
