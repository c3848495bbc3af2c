import { Validator } from '@seriousme/openapi-schema-validator'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, openApiDocument, type DbOptions, type Handler } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { documentValidator } from './document-validator.js'

const plugin = (more: Partial<DbOptions> = {}) =>
  db({ client: memoryAdapter(), resolveScope: () => 'user:1', ...more })
const options = () => ({ storage: memoryStorage(), bucket: 'files', plugins: [plugin()] as const })

async function errorsOf(document: object): Promise<unknown> {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) })
  return valid ? null : errors
}

describe('the document', () => {
  it('is valid OpenAPI 3.1 and plain JSON', async () => {
    for (const s3 of [createS3Server(options()), plugin(), plugin({ usageEndpoint: true })]) {
      const document = openApiDocument(s3)
      expect(await errorsOf(document)).toBeNull()
      expect(JSON.parse(JSON.stringify(document))).toEqual(document)
    }
  })

  it('describes exactly the enabled endpoints', () => {
    const operationsOf = (s3: { handler: Handler }) =>
      Object.entries(openApiDocument(s3).paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      )
    const ofDb = ['GET /db/objects', 'GET /db/object']
    expect(operationsOf(plugin())).toEqual(ofDb)
    expect(
      operationsOf(createS3Server({ ...options(), upload: false, delete: false, download: false })),
    ).toEqual(expect.arrayContaining(ofDb))
    const all = operationsOf(createS3Server(options()))
    const ofUploads = ['POST /upload', 'POST /upload/confirm', 'POST /upload/abort', 'GET /upload/rules']
    expect(all).toEqual(expect.arrayContaining([...ofDb, ...ofUploads, 'GET /download', 'DELETE /object']))
    const withoutDelete = operationsOf(createS3Server({ ...options(), delete: false }))
    expect(all.filter((operation) => !withoutDelete.includes(operation))).toEqual(['DELETE /object'])
    const withoutDownload = operationsOf(createS3Server({ ...options(), download: false }))
    expect(all.filter((operation) => !withoutDownload.includes(operation))).toEqual([
      'GET /download',
      'GET /file',
      'HEAD /file',
    ])
    expect(operationsOf(plugin({ usageEndpoint: true }))).toEqual([...ofDb, 'GET /db/usage'])
  })

  it('contains the server URL', () => {
    const urlOf = (basePath: string, serverURL?: string) =>
      openApiDocument(createS3Server({ ...options(), basePath }), { serverURL }).servers[0]?.url
    expect(urlOf('/files')).toBe('/files')
    expect(urlOf('/')).toBe('/')
    expect(urlOf('/files', 'https://app.example/v1/')).toBe('https://app.example/v1/files')
  })

  it('describes the redirect of GET /file', () => {
    const { responses } = openApiDocument(createS3Server(options())).paths['/file']!['get']!
    expect(responses['302']).toMatchObject({ headers: { Location: { schema: { format: 'uri' } } } })
    expect(responses['302']).not.toHaveProperty('content')
  })

  it('contains the title and the version', () => {
    const s3 = plugin()
    expect(openApiDocument(s3).info).toMatchObject({ title: 'Object storage', version: '1' })
    expect(openApiDocument(s3, { title: 'Files', version: '7' }).info).toMatchObject({
      title: 'Files',
      version: '7',
    })
  })

  it('has unique operation ids', () => {
    const operations = Object.values(openApiDocument(createS3Server(options())).paths).flatMap(Object.values)
    const ids = (operations as { operationId: string }[]).map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('lists the upload routes, and whether the route is optional', () => {
    const upload = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
    const accepts = (routes: object, body: object) =>
      documentValidator(openApiDocument(createS3Server({ ...options(), routes: { ...routes } }))).acceptsBody(
        '/upload',
        body,
      )
    expect(accepts({ avatars: {} }, upload)).toBe(true)
    expect(accepts({ avatars: {} }, { ...upload, route: null, metadata: null, more: 1 })).toBe(true)
    expect(accepts({ avatars: {}, films: {} }, upload)).toBe(false)
    expect(accepts({ avatars: {}, films: {} }, { ...upload, route: 'films' })).toBe(true)
    expect(accepts({ avatars: {} }, { ...upload, route: 'films' })).toBe(false)
    expect(accepts({ avatars: {} }, { ...upload, size: -1 })).toBe(false)
    expect(accepts({ avatars: {} }, { ...upload, metadata: { a: 1 } })).toBe(false)
  })

  it.each(['/upload/abort', '/multipart/abort', '/multipart/list'])('describes the failure in %s', (path) => {
    const validator = documentValidator(openApiDocument(createS3Server(options())))
    const id = '018f3b5c-0000-7000-8000-000000000000'
    const accepts = (failure: unknown) =>
      validator.acceptsBody(path, { key: 'a', id, uploadId: 'u1', failure })
    const message = 'x'.repeat(500)
    const accepted = [null, { status: 403, message }, { status: null, message: '', more: 1 }]
    expect(accepted.map(accepts)).toEqual([true, true, true])
    const refused = [
      'x',
      {},
      { status: 403 },
      { status: '403', message },
      { status: 403, message: `${message}x` },
    ]
    expect(refused.map(accepts)).toEqual(refused.map(() => false))
  })

  it('describes which upload routes refuse metadata', () => {
    const documentOf = (routes: object) =>
      openApiDocument(createS3Server({ ...options(), routes: { ...routes } }))
    const accepts = (routes: object, body: object) =>
      documentValidator(documentOf(routes)).acceptsBody('/upload', body)
    const sent = { filename: 'a.txt', contentType: 'text/plain', size: 3, metadata: { a: 'b' } }
    expect(accepts({ scans: { metadata: false } }, sent)).toBe(false)
    expect(accepts({ scans: { metadata: false } }, { ...sent, metadata: null })).toBe(true)
    expect(accepts({ films: { metadata: () => null } }, sent)).toBe(true)
    const mixed = { films: {}, scans: { metadata: false } }
    expect(accepts(mixed, { ...sent, route: 'films' })).toBe(true)
    expect(JSON.stringify(documentOf(mixed).paths['/upload'])).toContain('Refused by the routes scans.')
  })

  it('allows properties that a later minor release may add', () => {
    const { paths, components } = openApiDocument(createS3Server(options()))
    expect(JSON.stringify({ paths, components })).not.toContain('"additionalProperties":false')
  })

  it('is included in a bundle only if it is imported', async () => {
    const index = fileURLToPath(new URL('../../../src/index.ts', import.meta.url))
    const contents = `import { createS3Server } from ${JSON.stringify(index)}; console.log(createS3Server)`
    const { outputFiles } = await build({
      ...{ stdin: { contents, resolveDir: '.' }, bundle: true, write: false, format: 'esm' },
    })
    expect(outputFiles[0]!.text).toContain('createS3Server')
    expect(outputFiles[0]!.text).not.toContain(openApiDocument(plugin()).openapi)
  })

  it('requires a server or plugin of the library', () => {
    for (const wrong of [{ handler: async () => new Response() }, {}, null]) {
      expect(() => openApiDocument(wrong as never)).toThrow(TypeError)
    }
  })
})
