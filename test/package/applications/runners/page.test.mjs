// For vitest with the DOM of jsdom or happy-dom. The page and the API have the same origin.
import { createS3Client, dbClient } from '@svc/db/client'
import { expect, it } from 'vitest'

it('uploads a file with the XMLHttpRequest of the page and downloads it', async () => {
  expect(typeof XMLHttpRequest).toBe('function')
  const { api } = createS3Client({ baseURL: location.origin, plugins: [dbClient()] })
  const progress = []
  const file = new File(['hello'], 'hello.txt', { type: 'text/plain' })
  const { key, size } = await api.upload(file, { onProgress: ({ loaded }) => progress.push(loaded) })
  expect({ size, sent: progress.at(-1) }).toEqual({ size: 5, sent: 5 })

  const { objects } = await api.db.listObjects()
  expect(objects.map((object) => object.key)).toContain(key)
  const { url } = await api.download({ key })
  expect(await (await fetch(url)).text()).toBe('hello')
  await api.delete({ key })
  expect(await api.db.getObject({ key })).toBeNull()
})
