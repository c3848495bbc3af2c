import { describe, expect, it } from 'vitest'
import {
  openApiDocument,
  StorageError,
  type ErrorBody,
  type JsonSchema,
  type OpenApiOperation,
} from '@svc/db'
import { ManualClock } from '../../conformance/clock.js'
import { Caller, startService, type ServiceOptions } from '../../unit/server/service.js'
import { describedAnswers } from './described-answers.js'

const document = openApiDocument(startService().s3)
const described = describedAnswers(document)
const seen = new Set<string>()

/** A service whose every answer below its base path is held against the document, and remembered. */
function observed(options: ServiceOptions = {}) {
  const service = startService(options)
  const handler = async (request: Request) => {
    const response = await service.s3.handler(request)
    const { pathname, search } = new URL(request.url)
    const path = pathname.slice(service.s3.basePath.length)
    if (path.startsWith('/_storage')) return response
    const text = await response.clone().text()
    const json: unknown = text === '' ? undefined : JSON.parse(text)
    const { method } = request
    const { status } = response
    expect(
      described.flawOf({ method, path: path + search, status, json }),
      `${method} ${path} ${text}`,
    ).toBeNull()
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (operation) seen.add(`${operation.operationId} ${status >= 400 ? (json as ErrorBody).code : status}`)
    return response
  }
  return { ...service, as: (scope: string | null) => new Caller(handler, scope) }
}

const ID = '019b7d00-0000-7000-8000-000000000000'
const REQUESTS = [
  ['GET', '/db/objects'],
  ['GET', '/db/object?key=a'],
  ['POST', '/upload', { filename: 'a.txt', contentType: 'text/plain', size: 3 }],
  ['POST', '/upload/confirm', { key: 'a', id: ID }],
  ['POST', '/upload/abort', { key: 'a', id: ID }],
  ['GET', '/download?key=a'],
  ['DELETE', '/object?key=a'],
] as const

async function askAll(caller: Caller): Promise<number[]> {
  const answers = REQUESTS.map(([method, path, body]) => caller.send(method, path, body))
  return (await Promise.all(answers)).map(({ status }) => status)
}

describe('answers are as the document says', () => {
  it('where all goes well', async () => {
    const ann = observed().as('user:ann')
    const { key } = await ann.upload()
    await ann.bytes(key)
    expect((await ann.send('GET', '/db/objects?limit=1')).status).toBe(200)
    expect((await ann.send('GET', `/db/object?key=${key}`)).status).toBe(200)
    expect((await ann.delete(key)).status).toBe(204)
    expect((await ann.abort((await ann.begun()).object)).status).toBe(204)
  })

  it('where nobody is signed in, and where nothing is there', async () => {
    expect(new Set(await askAll(observed().as(null)))).toEqual(new Set([401]))
    expect(await askAll(observed().as('user:ann'))).toEqual([200, 404, 201, 404, 404, 404, 404])
  })

  it('where the input is bad', async () => {
    const ann = observed().as('user:ann')
    for (const [method, path] of REQUESTS) {
      const bad = method === 'POST' ? {} : undefined
      expect((await ann.send(method, path.replace(/\?.*/, '') + '?key=&limit=0', bad)).status).toBe(400)
    }
    expect((await ann.send('GET', '/db/objects?cursor=x')).status).toBe(400)
  })

  it('where the database or the application fails', async () => {
    const failing = (error: () => Error) =>
      observed({
        resolveScope: () => {
          throw error()
        },
      }).as('user:ann')
    expect(new Set(await askAll(failing(() => new Error('broken'))))).toEqual(new Set([500]))
    expect(new Set(await askAll(failing(() => new StorageError('DATABASE_UNAVAILABLE'))))).toEqual(
      new Set([503]),
    )
  })

  it('where the storage fails', async () => {
    let isDown = false
    const fail = (): never => {
      throw new Error('no answer')
    }
    const service = observed({
      storage: (memory) => ({
        ...memory,
        head: async (reference) => (isDown ? fail() : memory.head(reference)),
        signUpload: async (input) => (isDown ? fail() : memory.signUpload(input)),
        signDownload: async (input) => (isDown ? fail() : memory.signDownload(input)),
      }),
    })
    const ann = service.as('user:ann')
    const { key } = await ann.upload()
    const { object } = await ann.begun()
    isDown = true
    const statuses = [await ann.begin(), await ann.confirm(object), await ann.download(key)].map(
      (r) => r.status,
    )
    expect(statuses).toEqual([502, 502, 502])
  })

  it('where a guard refuses', async () => {
    const guard = () => {
      throw new Error('no')
    }
    const open = observed()
    const { key } = await open.as('user:ann').upload()
    const { objects } = open
    const ann = observed({ objects, upload: { guard }, download: { guard }, delete: { guard } }).as(
      'user:ann',
    )
    const statuses = [await ann.begin(), await ann.download(key), await ann.delete(key)].map((r) => r.status)
    expect(statuses).toEqual([403, 403, 403])
  })

  it('where an upload can’t be', async () => {
    const routes = { only: { maxFileSize: 10, contentTypes: ['text/*'], key: () => 'one key' } }
    const ann = observed({ routes, quota: { maxBytes: 5 } }).as('user:ann')
    expect((await ann.begin({ size: 11 })).status).toBe(413)
    expect((await ann.begin({ size: 6 })).status).toBe(413)
    expect((await ann.begin({ contentType: 'image/png' })).status).toBe(415)
    await ann.upload()
    expect((await ann.begin({ size: 1 })).status).toBe(409)
  })

  it('where it lapses before it gets a URL', async () => {
    const clock = new ManualClock()
    const hooks = { onReserved: () => clock.advance(2000) }
    const ann = observed({ clock, hooks, pendingTtlSeconds: 1 }).as('user:ann')
    expect((await ann.begin()).status).toBe(404)
  })

  it('where nothing was uploaded', async () => {
    const ann = observed().as('user:ann')
    const { object } = await ann.begun()
    expect((await ann.confirm(object)).status).toBe(409)
  })

  it('where the listing has a next page', async () => {
    const ann = observed().as('user:ann')
    await ann.upload()
    await ann.upload()
    const page = (await (await ann.send('GET', '/db/objects?limit=1')).json()) as { nextCursor?: string }
    expect(page.nextCursor).toEqual(expect.any(String))
  })
})

describe('the document', () => {
  it('says nothing that no answer has shown', () => {
    expect([...seen].sort()).toEqual(promised().sort())
  })
})

/** Each success and each error of the document, as `seen` has them. */
function promised(): string[] {
  const operations: OpenApiOperation[] = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods),
  )
  return operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, response]) =>
      Number(status) < 400
        ? [`${operationId} ${status}`]
        : codesOf(response).map((code) => `${operationId} ${code}`),
    ),
  )
}

function codesOf(response: JsonSchema): string[] {
  const { content } = response as unknown as {
    content: { 'application/json': { schema: { properties: { code: { enum: string[] } } } } }
  }
  return content['application/json'].schema.properties.code.enum
}
