import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** What runtimes of workers forbid before the first request. */
const FORBIDDEN = ['crypto', 'fetch', 'setTimeout', 'setInterval', 'setImmediate'] as const

it('a server and its store can be created where there are no random numbers, timers or I/O yet', async () => {
  vi.resetModules()
  const used: string[] = []
  for (const name of FORBIDDEN) {
    const note = () => {
      used.push(name)
      throw new Error(`${name} is not allowed at module scope`)
    }
    vi.stubGlobal(name, new Proxy(note, { get: note }))
  }
  const { createObjectAccessGuard, createQuotaGuard, createS3Server, db, memoryStorage } =
    await import('@svc/db')
  const { memoryAdapter } = await import('@svc/db/memory')
  const storage = memoryStorage()
  const client = memoryAdapter()
  const resolveScope = () => 'user:1'
  const plugins = [db({ client, resolveScope, quota: { maxBytes: 10 } })] as const
  const { handler } = createS3Server({ storage, bucket: 'files', plugins })
  createQuotaGuard({ client, resolveScope, maxBytes: 10 })
  createObjectAccessGuard({ client, resolveScope, authorize: () => true })
  expect(used).toEqual([])
  vi.unstubAllGlobals()

  // The first request creates what they need.
  const post = (path: string, body: unknown) =>
    handler(
      new Request(`https://app.example/api/s3${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  const begun = await post('/upload', { filename: 'a', contentType: 'text/plain', size: 5 })
  const { object, upload } = (await begun.json()) as {
    object: { key: string; id: string }
    upload: { url: string; method: string; headers: Record<string, string> }
  }
  expect((await handler(new Request(upload.url, { ...upload, body: 'hello' }))).status).toBe(200)
  expect((await post('/upload/confirm', { key: object.key, id: object.id })).status).toBe(200)
  expect(await client.getScopeUsage('user:1')).toMatchObject({ bytes: 5, files: 1 })
})
