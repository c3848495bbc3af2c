import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createObjectAccessGuard, createQuotaGuard, StorageError } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { everyFramework } from './frameworks.js'

const bucket = 'files'
const objects = [
  { scope: 'user:ann', bucket, size: 10, key: 'diary.txt' },
  { scope: 'user:ann', bucket, size: 10, key: 'plan.pdf' },
]

type Answer = readonly [status: number, body: unknown]
type Run = (request: Request, url: URL, message: IncomingMessage) => Promise<unknown>

async function resolveScope({ headers }: Request): Promise<string | null> {
  const name = headers.get('x-name')
  return name === null ? null : `user:${name}`
}

describe.each(everyFramework)('application routes in $name', ({ app: newApp }) => {
  async function serve(run: Run) {
    const app = newApp().route((request, response, message) => {
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

  it('can check ownership', async () => {
    const guard = createObjectAccessGuard({ client: memoryAdapter({ objects }), resolveScope })
    const ask = await serve(async (request, url) => {
      return (await guard({ request, bucket, key: url.searchParams.get('key') ?? '' })).size
    })

    expect(await ask('/size?key=diary.txt', 'ann')).toEqual([200, 10])
    expect(await ask('/size?key=diary.txt', 'bob')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/size?key=none.txt', 'bob')).toEqual([404, 'OBJECT_NOT_FOUND'])
    expect(await ask('/size?key=diary.txt')).toEqual([401, 'UNAUTHORIZED'])
    expect(await ask('/size', 'ann')).toEqual([400, 'VALIDATION_ERROR'])
  })

  it('can check the quota before reading the body', async () => {
    const client = memoryAdapter({ objects })
    const guard = createQuotaGuard({ client, resolveScope, maxBytes: 20, maxFiles: 2 })
    const ask = await serve(async (request, _url, message) => {
      expect(request.body).toBeNull()
      const size = Number(request.headers.get('content-length'))
      await guard({ request, bucket, key: 'new.txt', size })
      return text(message)
    })

    expect(await ask('/files', 'bob', '0123456789')).toEqual([200, '0123456789'])
    expect(await ask('/files', 'bob', '0123456789'.repeat(3))).toEqual([413, 'QUOTA_EXCEEDED'])
    expect(await ask('/files', 'ann', '')).toEqual([413, 'QUOTA_EXCEEDED'])
    expect(await ask('/files', null, '')).toEqual([401, 'UNAUTHORIZED'])
  })
})
