import type { Browser } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { useBrowserSessions, type BrowserSession } from './browser-session.js'

export const checkedFiles = (browser: () => Browser): void => {
  describe('a file that is checked', () => {
    const startSession = useBrowserSessions(browser, { check: true })
    let session: BrowserSession
    beforeEach(async () => {
      session = await startSession()
    })

    /** Chooses a file in the page. Resolves to its upload, or to the reason why it was refused. */
    const choose = (size: number) =>
      session.page.evaluate(async (size) => {
        const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
        const file = new File([new Uint8Array(size).fill(7)], 'a.bin')
        try {
          const { id, key, checking } = await api.upload(file)
          return { id, key, checking }
        } catch (error) {
          return (error as { params?: { reason?: string } }).params?.reason
        }
      }, size)
    const reload = async () => {
      await session.page.reload()
      await session.page.waitForFunction(() => 'client' in window)
    }

    it.each([1000, 16 * 1024 ** 2])(
      'of %i bytes is sent once, also when it is chosen again after a reload',
      async (size) => {
        const { server } = session
        const first = await choose(size)
        expect(first).toMatchObject({ checking: true })
        const sent = server.toBucket.length
        await reload()
        expect(await choose(size)).toEqual(first)
        await server.reject(first as { id: string; key: string }, 'Contains a virus.')
        expect(await choose(size)).toBe('Contains a virus.')
        await reload()
        expect(await choose(size)).toBe('Contains a virus.')
        expect(server.toBucket).toHaveLength(sent)
        expect(await server.usage()).toEqual({ bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 })
      },
    )
  })
}
