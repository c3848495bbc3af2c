import { expect } from 'vitest'
import type { ClientPage } from '../client-page.js'
import type { Tab } from './engine.js'

interface SeveralFiles {
  readonly files: number
  /** Bytes of each. */
  readonly size: number
  readonly stallSeconds: number | null
}

/** Uploads several files in parts at once, and expects that all are stored. */
export async function uploadAtOnce(server: ClientPage, tab: Tab, plan: SeveralFiles): Promise<void> {
  const results = await tab.evaluate(async ({ files, size, stallSeconds }) => {
    const { api } = window.client.createS3Client({
      plugins: [],
      headers: { 'x-user': 'ada' },
      stallSeconds,
    })
    const uploads = Array.from({ length: files }, (_, index) => {
      const file = new File([new Uint8Array(size).fill(index)], `${index}.bin`)
      return api.upload(file).then(
        ({ status, key }) => [status, key] as const,
        (error) => [String(error), ''] as const,
      )
    })
    return Promise.all(uploads)
  }, plan)
  expect(results.map(([status]) => status)).toEqual(results.map(() => 'active'))
  for (const [index, [, key]] of results.entries()) {
    expect((await server.bytesOf(key)).equals(Buffer.alloc(plan.size, index))).toBe(true)
  }
}
