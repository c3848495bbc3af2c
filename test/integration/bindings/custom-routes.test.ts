import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import {
  chainHooks,
  createObjectAccessGuard,
  createQuotaGuard,
  db,
  StorageError,
  type GuardContext,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import type { FrameworkApp } from './framework.js'
import { everyFramework } from './frameworks.js'

const bucket = 'files'
const row = { scope: 'user:ann', bucket, size: 10 }
const objects = [
  { ...row, key: 'diary.txt' },
  { ...row, key: 'poster.png', metadata: { public: 'yes' } },
  { ...row, key: 'plan.pdf', metadata: { sharedWith: 'user:bob' } },
  { ...row, scope: 'user:bob', key: 'bob.txt' },
  { scope: 'user:ann', bucket, key: 'draft.txt', status: 'pending' as const, declaredSize: 1 },
]

type Answer = readonly [status: number, body: unknown]
type Run = (request: Request, url: URL, message: IncomingMessage) => Promise<unknown>

describe.each(everyFramework)('application routes in $name', ({ app: newApp }) => {
  /** Counts calls of `resolveScope`. */
  function signIn() {
    const asked: Request[] = []
    const resolveScope = async (request: Request) => {
      asked.push(request)
      const name = request.headers.get('x-name')
      return name === null ? null : `user:${name}`
    }
    return { asked, resolveScope }
  }

  async function serve(run: Run, app: FrameworkApp = newApp()) {
    app.route((request, response, message) => {
      run(request, new URL(request.url), message).then(
        (body) => response.writeHead(200).end(JSON.stringify(body)),
        (error: unknown) => {
          const { status, code } =
            error instanceof StorageError ? error : { status: 500, code: String(error) }
          response.writeHead(status).end(JSON.stringify(code))
        },
      )
    })
    const { url } = await app.listen()
    return async (path: string, name: string | null = null, body?: string): Promise<Answer> => {
      const headers = { ...(name !== null && { 'x-name': name }), 'content-type': 'text/plain' }
      const init = body === undefined ? { headers } : { method: 'POST', headers, body }
      const response = await fetch(url + path, init)
      return [response.status, await response.json()]
    }
  }

  const keyIn = (url: URL) => ({ bucket, key: url.searchParams.get('key') ?? '' })

  it('can check ownership', async () => {
    const guard = createObjectAccessGuard({ client: memoryAdapter({ objects }), ...signIn() })
    const ask = await serve(async (request, url) => (await guard({ request, ...keyIn(url) })).size)

    expect(await ask('/size?key=diary.txt', 'ann')).toEqual([200, 10])
    expect(await ask('/size?key=diary.txt', 'bob')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/size?key=none.txt', 'bob')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/size?key=draft.txt', 'ann')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/size?key=diary.txt')).toEqual([401, 'UNAUTHORIZED'])
    expect(await ask('/size', 'ann')).toEqual([400, 'VALIDATION_ERROR'])
  })

  it('can share objects with everyone or with named callers', async () => {
    const guard = createObjectAccessGuard({
      client: memoryAdapter({ objects }),
      ...signIn(),
      authorize(object, { scope }) {
        const { public: isPublic, sharedWith } = object.metadata ?? {}
        if (object.scope === scope || isPublic === 'yes') return true
        if (scope !== null && sharedWith === scope) return true
        throw new StorageError('OBJECT_NOT_FOUND')
      },
    })
    const ask = await serve(async (request, url) => (await guard({ request, ...keyIn(url) })).size)
    const hidden = [404, 'OBJECT_NOT_FOUND']
    const seen = [200, 10]

    for (const [key, byAnn, byBob, byEve, anonymously] of [
      ['diary.txt', seen, hidden, hidden, hidden],
      ['poster.png', seen, seen, seen, seen],
      ['plan.pdf', seen, seen, hidden, hidden],
      ['none.txt', hidden, hidden, hidden, hidden],
    ] as const) {
      const responses = [await ask(`/size?key=${key}`)]
      for (const name of ['ann', 'bob', 'eve']) responses.push(await ask(`/size?key=${key}`, name))
      expect([key, ...responses]).toEqual([key, anonymously, byAnn, byBob, byEve])
    }
  })

  it('deny access unless the application’s rule returns true', async () => {
    const decisions: Record<string, unknown> = { 'diary.txt': false, 'poster.png': 'yes', 'plan.pdf': true }
    const guard = createObjectAccessGuard({
      client: memoryAdapter({ objects }),
      ...signIn(),
      authorize: async ({ key }) => {
        if (!(key in decisions)) throw new Error('the list of friends is at friends.internal')
        return decisions[key] as boolean
      },
    })
    const ask = await serve(async (request, url) => (await guard({ request, ...keyIn(url) })).size)

    expect(await ask('/size?key=plan.pdf', 'bob')).toEqual([200, 10])
    for (const key of ['diary.txt', 'poster.png', 'bob.txt']) {
      expect(await ask(`/size?key=${key}`, 'bob')).toEqual([403, 'FORBIDDEN'])
    }
  })

  it('can check the quota before reading the body', async () => {
    const client = memoryAdapter({ objects })
    const guard = createQuotaGuard({ client, ...signIn(), maxBytes: 20, maxFiles: 2 })
    const ask = await serve(async (request, _url, message) => {
      const size = Number(request.headers.get('content-length'))
      await guard({ request, bucket, key: 'new.txt', size })
      return text(message)
    })

    expect(await ask('/files', 'bob', '0123456789')).toEqual([200, '0123456789'])
    expect(await ask('/files', 'bob', '0123456789x')).toEqual([413, 'QUOTA_EXCEEDED'])
    expect(await ask('/files', 'ann', '')).toEqual([413, 'QUOTA_EXCEEDED'])
    expect(await ask('/files', null, '')).toEqual([401, 'UNAUTHORIZED'])
  })

  it('can chain guards: the first refusal is the response, and resolveScope runs once', async () => {
    const client = memoryAdapter({ objects })
    const { asked, resolveScope } = signIn()
    const mayRead = createObjectAccessGuard({
      client,
      resolveScope,
      authorize: (object, { scope }) =>
        object.scope === scope || object.metadata?.['sharedWith'] === scope || object.key === 'bob.txt',
    })
    const hasRoom = createQuotaGuard({ client, resolveScope, maxBytes: 25 })
    const passed: string[] = []
    const mayCopy = chainHooks<GuardContext>(mayRead, null, hasRoom, ({ key }) => void passed.push(key))
    const ask = await serve(async (request, url) => {
      await mayCopy({ request, ...keyIn(url), size: 15 })
      return 'copied'
    })

    expect(await ask('/copy?key=plan.pdf', 'bob')).toEqual([200, 'copied'])
    expect(asked.length).toBe(1)
    expect(await ask('/copy?key=diary.txt', 'bob')).toEqual([403, 'FORBIDDEN'])
    expect(await ask('/copy?key=none.txt', 'bob')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/copy?key=diary.txt', 'ann')).toEqual([413, 'QUOTA_EXCEEDED'])
    expect(await ask('/copy?key=bob.txt')).toEqual([401, 'UNAUTHORIZED'])
    expect(passed).toEqual(['plan.pdf'])
  })

  it('can write through db() for the caller', async () => {
    const plugin = db({ client: memoryAdapter({ objects }), ...signIn(), bucket })
    const ask = await serve(async (request, url) => {
      const { scope, key } = await plugin.reserve(request, { key: url.pathname.slice(1), declaredSize: 5 })
      return { scope, key }
    }, newApp().bind(plugin))

    expect(await ask('/new.txt', 'eve')).toEqual([200, { scope: 'user:eve', key: 'new.txt' }])
    expect(await ask('/api/s3/db/objects?status=pending', 'eve')).toMatchObject([
      200,
      { objects: [{ key: 'new.txt', declaredSize: 5 }] },
    ])
  })
})
