import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SECOND } from './fake-time.js'
import { clientWith, first, large, page, silent, small, start, timed } from './faulty-server.js'
import { rejectionOf } from './rejection.js'
import type { Fetch } from './server.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'

useFakePauses()

describe('a line of uploads', () => {
  it('lets six begin at once, and reports that the others wait', async () => {
    let [atOnce, most] = [0, 0]
    const client = start({
      PUT: async (serve) => {
        most = Math.max(most, ++atOnce)
        const response = await serve()
        atOnce -= 1
        return response
      },
    })
    const states: string[][] = []
    const uploads = Array.from({ length: 40 }, (_, index) => {
      const own: string[] = (states[index] = [])
      return client.api.upload(small(), { onState: (state) => own.push(state), timeoutSeconds: 20 })
    })
    await timed(Promise.all(uploads))
    expect(most).toBeLessThanOrEqual(6)
    expect(states.map(([begin]) => begin)).toEqual([
      ...Array<string>(6).fill('sending'),
      ...Array<string>(34).fill('waiting'),
    ])
    expect(await client.usage()).toMatchObject({ files: 40, reservedFiles: 0 })
  })

  it('is left at once by an abort, and not counted by timeoutSeconds', async () => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const client = start({ PUT: (serve) => released.then(serve) })
    const begun = Array.from({ length: 6 }, () => client.api.upload(small()))
    // Memory storage is at the API's address, for whose calls one of six connections stays free.
    await expect.poll(() => client.count('PUT')).toBe(5)
    const controller = new AbortController()
    const left = rejectionOf(client.api.upload(small(), { signal: controller.signal }))
    const states: string[] = []
    const patient = client.api.upload(small(), { timeoutSeconds: 1, onState: (state) => states.push(state) })
    await expect.poll(() => states).toEqual(['waiting'])
    controller.abort()
    expect(await left).toMatchObject({ code: 'ABORTED' })
    vi.advanceTimersByTime(10 * SECOND)
    release()
    await Promise.all(begun)
    expect(await patient).toMatchObject({ status: 'active' })
    expect(client.count('POST /upload')).toBe(7)
  })

  it('waits until a cancelled upload has given back its room', async () => {
    const client = start({ PUT: first(1, silent) }, { quota: { maxFiles: 1 } })
    const controller = new AbortController()
    const cancelled = rejectionOf(client.api.upload(small(), { signal: controller.signal }))
    await expect.poll(() => client.count('PUT')).toBe(1)
    controller.abort()
    expect((await timed(client.api.upload(small()))).result).toMatchObject({ status: 'active' })
    expect(await cancelled).toMatchObject({ code: 'ABORTED' })
  })
})

describe('the line of PUTs', () => {
  it('has six places for all uploads, and lets one with fewer places in first', async () => {
    let [atOnce, most] = [0, 0]
    const held: (() => void)[] = []
    const order: string[] = []
    const client = start({}, { baseURL: 'http://bucket.test/api/s3/_storage' })
    const fetch: Fetch = async (input, init) => {
      if (init?.method !== 'PUT') return client.fetch(input, init)
      most = Math.max(most, ++atOnce)
      order.push((init.body as File).name)
      await new Promise<void>((resolve) => held.push(resolve))
      atOnce -= 1
      return client.fetch(input, init)
    }
    const { api } = clientWith(fetch)
    const films = [api.upload(large()), api.upload(large())]
    // Three parts of each.
    await expect.poll(() => held.length).toBe(6)
    const more = api.upload(large())
    await expect.poll(() => client.count('POST /multipart')).toBe(3)
    const note = api.upload(small())
    await expect.poll(() => client.count('POST /upload')).toBe(1)
    held.shift()!()
    await expect.poll(() => order.length).toBe(7)
    held.shift()!()
    await expect.poll(() => order.length).toBe(8)
    // Each of the two has no place yet. The other parts of the third film come later.
    expect(order.slice(6).sort()).toEqual(['a.txt', 'part'])
    const rest = setInterval(() => held.shift()?.(), 1)
    onTestFinished(() => clearInterval(rest))
    await Promise.all([...films, more, note])
    expect(most).toBe(6)
  })

  it('gets shorter while PUTs fail, as on a server that ends what takes long, and longer again', async () => {
    const running = new Set<{ isLong: boolean }>()
    let [bearable, most] = [2, 0]
    const client = start({
      PUT: async (serve) => {
        const own = { isLong: false }
        running.add(own)
        most = Math.max(most, running.size)
        if (running.size > bearable) for (const each of running) each.isLong = true
        await new Promise((resolve) => setTimeout(resolve, SECOND))
        running.delete(own)
        return own.isLong ? page(408) : serve()
      },
    })
    const { api } = client
    const together = [api.upload(large()), api.upload(large()), api.upload(small()), api.upload(small())]
    await timed(Promise.all(together))
    bearable = Infinity
    most = 0
    await timed(Promise.all([large(), large(), large()].map((file) => api.upload(file))))
    expect(most).toBe(5)
    expect(await client.usage()).toMatchObject({ files: 7, reservedFiles: 0 })
  })
})
