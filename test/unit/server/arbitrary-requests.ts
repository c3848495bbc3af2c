import { ERROR_CODES, openApiDocument, StorageError } from '@svc/db'
import fc from 'fast-check'
import { expect } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { anyText } from '../core/any-text.js'
import { BASE, bytesOfSize, ORIGIN, startService } from './service.js'

/** Beside the endpoints: the URLs of the storage, and what is none. */
const OTHER_PATHS = ['/_storage', '/_storage/', '/_storage/x.y', '/', '']

/** Characters of several code points: a family, a flag, letters with marks. */
const grapheme = fc.constantFrom(
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '\u{1f1e9}\u{1f1ea}',
  'e\u0301',
  'a',
  '\u1100\u1161',
  '\u0e01\u0e33',
)

const text = fc.oneof(
  anyText(),
  fc.string({ unit: grapheme }),
  fc.constantFrom(
    ...['', 'a', '\0', 'a\0b', '\ud800', '..', '../..', '__proto__', 'constructor', '%', '%00', '%ff'],
    'x'.repeat(3000),
  ),
)

/** Raw query strings: valid, malformed, and with repeated parameters. */
const query = fc.oneof(
  text.map((rest) => `?${rest}`),
  fc
    .array(fc.tuple(fc.constantFrom('key', 'bucket', 'status', 'limit', 'cursor', 'route', 'x'), text), {
      maxLength: 4,
    })
    .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${percentEncoded(value)}`).join('&')}`),
)

function percentEncoded(value: string): string {
  return encodeURIComponent(value.replace(/\p{Surrogate}/gu, '\ufffd'))
}

/** Segments of any text. `fc.webPath` builds maps of all characters first, which takes longer than a hundred requests. */
const anyPath = fc
  .array(fc.oneof(text.map(percentEncoded), fc.constantFrom('', '.', '..', "~!$&'()*+,;=:@")), {
    maxLength: 5,
  })
  .map((segments) => segments.map((segment) => `/${segment}`).join(''))

interface Known {
  readonly keys: readonly string[]
  readonly ids: readonly string[]
  readonly url: string
}

/** Bodies with known field names and arbitrary values. Some refer to existing objects. */
function bodyFor({ keys, ids }: Known) {
  const value = fc.oneof(
    {
      weight: 2,
      arbitrary: fc.constantFrom<unknown>(...keys, ...ids, 'text/plain', 'default', 'checked', 3, 0, null),
    },
    text,
    fc.jsonValue(),
  )
  const fields = fc.constantFrom(
    ...['route', 'filename', 'contentType', 'size', 'metadata', 'key', 'id', 'bucket', '__proto__'],
    ...['temporarySeconds', 'temporaryUntil'],
  )
  const record = fc
    .array(fc.tuple(fields, value), { maxLength: 8 })
    .map((entries) => JSON.stringify(Object.fromEntries(entries)))
  const upload = fc
    .record({
      filename: text,
      contentType: fc.constantFrom('text/plain', 'a/b;c="d"'),
      size: fc.nat(),
      metadata: fc.jsonValue(),
    })
    .map((input) => JSON.stringify(input))
  return fc.oneof(
    record,
    upload,
    fc.json(),
    anyText(),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array(bytes)),
    fc.integer({ min: 1, max: 80_000 }).map((size) => bytesOfSize(size, 0x20)),
  )
}

const header = fc.tuple(
  fc.constantFrom(
    ...['accept', 'range', 'if-none-match', 'content-length', 'x-amz-meta-attempt-id'],
    'x-http-method-override',
  ),
  fc.constantFrom('*', '0', '-1', 'bytes=0-1', '9999999999999999999', 'DELETE', 'a, b'),
)

/** Sends arbitrary requests, and expects no 5xx, no hang, and only error messages of the library. */
export async function sendArbitraryRequests(numRuns: number): Promise<void> {
  const service = startService({
    quota: { maxBytes: 2 ** 40, maxFiles: 10_000 },
    routes: { default: { temporarySeconds: 3600 }, checked: { check: true } },
    update: { fields: ['filename', 'metadata', 'contentType'] },
  })
  const owner = service.as('user:1')
  const object = await owner.upload({ route: 'default' })
  const [waiting, rejected] = [
    await owner.upload({ route: 'checked' }),
    await owner.upload({ route: 'checked' }),
  ]
  await service.s3.files.reject({ key: rejected.key, attemptId: rejected.id, reason: 'no' })
  const { upload } = await owner.begun({ route: 'default' })
  const known: Known = {
    keys: [object, waiting, rejected].map(({ key }) => key),
    ids: [object, waiting, rejected].map(({ id }) => id),
    url: upload.url,
  }

  const paths = [...Object.keys(openApiDocument(service.s3).paths), ...OTHER_PATHS]
  const request = fc
    .record({
      method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'get'),
      path: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...paths).map((path) => `/api/s3${path}`) },
        fc.constant(new URL(known.url).pathname),
        text.map((rest) => `/api/s3/_storage/${percentEncoded(rest)}`),
        anyPath,
      ),
      query,
      contentType: fc.constantFrom('application/json', 'Application/JSON; charset=utf-8', 'text/plain', null),
      scope: fc.constantFrom('user:1', 'user:2', null),
      headers: fc.array(header, { maxLength: 3 }),
      body: bodyFor(known),
    })
    .map(({ method, path, query: search, contentType, scope, headers, body }) => {
      const sent = new Headers(headers)
      if (scope !== null) sent.set('x-scope', scope)
      if (contentType !== null) sent.set('content-type', contentType)
      const bodiless = /^(?:get|head)$/i.test(method)
      return new Request(ORIGIN + path + search, { method, headers: sent, ...(!bodiless && { body }) })
    })

  await fc.assert(
    fc.asyncProperty(request, async (asked) => {
      const response = await service.s3.handler(asked)
      expect(response.status).toBeLessThan(500)
      expect(response.headers.get('cache-control')).toMatch(/^private/)
      const text = await response.text()
      if (response.status < 400 || asked.method === 'HEAD') return
      const { code, message, params = {}, ...rest } = JSON.parse(text) as Record<string, unknown>
      expect(ERROR_CODES).toContain(code)
      expect(new StorageError(code as 'NOT_FOUND').status).toBe(response.status)
      expect(message).toEqual(expect.stringMatching(/^[A-Za-z].*\.$/s))
      expect(
        Object.values(params as object).every((value) => /string|number|boolean/.test(typeof value)),
      ).toBe(true)
      expect(rest).toEqual({})
    }),
    { numRuns },
  )
  expect(service.reported).toEqual([])
  expect(await service.objects.checkUsage()).toEqual([])
  // Requests neither choose nor change the end of an object.
  for (const scope of ['user:1', 'user:2']) {
    const { objects: rows } = await service.objects.listByScope({ scope, status: 'active', limit: 1000 })
    for (const { temporaryUntil } of rows) expect(temporaryUntil).toEqual(service.clock.in(HOUR))
  }
}

/** Calls the server's functions for checked uploads with arbitrary input, and expects only refusals that name what is wrong. */
export async function callWithArbitraryInput(numRuns: number): Promise<void> {
  const service = startService({
    routes: { checked: { check: true } },
    storage: (memory) => ({ ...memory, baseURL: `${BASE}/_storage` }),
  })
  const waiting = await service.as('user:1').upload()
  const { objects } = service
  const { files } = service.s3
  const calls = {
    'files.accept': files.accept.bind(files),
    'files.reject': files.reject.bind(files),
    'files.get': files.get.bind(files),
    'files.downloadURL': files.downloadURL.bind(files),
    'store.reject': objects.reject.bind(objects),
    'store.listArrived': objects.listArrived.bind(objects),
  } as Readonly<Record<string, (input: never) => Promise<unknown>>>
  const names = [
    'key',
    'bucket',
    'attemptId',
    'id',
    'scope',
    'reason',
    'contentType',
    'arrived',
    'dueBefore',
    'limit',
  ]
  const value = fc.oneof(
    fc.constantFrom<unknown>(waiting.key, waiting.id, true, null, undefined, new Date(0), new Date(NaN)),
    text,
    fc.anything(),
  )
  const input = fc.oneof(fc.dictionary(fc.constantFrom(...names, 'after', '__proto__'), value), fc.anything())
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(calls)), input, async (name, input) => {
      // A verdict that fits would leave nothing for the runs that follow.
      const isVerdict = /accept|reject/.test(name)
      const named = Object(input) as { attemptId?: unknown; id?: unknown }
      fc.pre(!isVerdict || (named.attemptId !== waiting.id && named.id !== waiting.id))
      const result = await calls[name]!(input as never).catch((error: unknown) => error)
      if (result instanceof Error)
        expect(result).toMatchObject({
          name: 'StorageError',
          status: expect.toSatisfy((status: number) => status < 500) as number,
        })
      else expect(isVerdict).toBe(false)
    }),
    { numRuns },
  )
  expect(await objects.listArrived()).toHaveLength(1)
  expect(service.reported).toEqual([])
}

/** Passes arbitrary results of a body parser, and expects a 400. */
export async function sendArbitraryBodies(numRuns: number): Promise<void> {
  const { s3, as, reported } = startService()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/upload', '/upload/confirm', '/upload/abort'),
      fc.oneof(fc.jsonValue(), fc.anything(), fc.uint8Array(), anyText()),
      async (path, value) => {
        const response = await s3.handler(as('user:1').request('POST', path, {}), {
          body: { kind: 'parsed', value },
        })
        expect(response.status).toBe(400)
      },
    ),
    { numRuns },
  )
  expect(reported).toEqual([])
}
