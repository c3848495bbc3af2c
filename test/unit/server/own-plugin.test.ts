import { createS3Server, db, memoryStorage, openApiDocument, StorageError, type Guard } from '@svc/db'
import { guardedEndpoint, type HttpField, type ServerPlugin } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { expect, it, vi } from 'vitest'

const LANGUAGES = ['de', 'en'] as const

const language: HttpField<(typeof LANGUAGES)[number]> = {
  isRequired: false,
  schema: { type: 'string', enum: LANGUAGES },
  description: 'Default: en.',
  read(value = null) {
    const found = LANGUAGES.find((known) => known === (value ?? 'en'))
    if (found) return found
    throw new StorageError('VALIDATION_ERROR', { params: { field: 'language' } })
  },
}

/** Greets the caller, at `GET /greeting` and as `server.greetings`. */
const greetings = (guard: Guard): ServerPlugin<'greetings', { readonly count: () => number }> => ({
  id: 'greetings',
  install({ bucket }) {
    let count = 0
    const endpoint = guardedEndpoint({
      method: 'GET',
      path: '/greeting',
      operation: 'greetings.get',
      query: { language },
      describe: () => ({
        summary: 'Greets the caller.',
        answer: { status: 200, description: 'The greeting.', body: { type: 'object' } },
        errors: ['VALIDATION_ERROR', 'FORBIDDEN'],
      }),
      own: () => null,
      guard: () => ({ guards: [guard], context: { bucket, key: 'greeting' } }),
      async act(input, _subject, { scope }) {
        count++
        return { status: 200, body: { text: `${input.language === 'de' ? 'Hallo' : 'Hello'}, ${scope}` } }
      },
    })
    return { context: { count: () => count }, endpoints: [endpoint] }
  },
})

it('a plugin can add its own endpoint with what @svc/db/adapter exports', async () => {
  const guard = vi.fn<Guard>()
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'ann' }), greetings(guard)],
  })
  const get = async (query: string) => {
    const response = await s3.handler(new Request(`http://localhost/api/s3/greeting${query}`))
    return [response.status, (await response.json()) as unknown]
  }
  expect(await get('?language=de')).toEqual([200, { text: 'Hallo, ann' }])
  expect(await get('')).toEqual([200, { text: 'Hello, ann' }])
  expect(await get('?language=fr')).toMatchObject([400, { params: { field: 'language' } }])
  expect(guard).toHaveBeenCalledWith(expect.objectContaining({ scope: 'ann', key: 'greeting' }))
  guard.mockImplementation(() => {
    throw new StorageError('FORBIDDEN')
  })
  expect(await get('')).toMatchObject([403, { code: 'FORBIDDEN' }])
  expect(s3.greetings.count()).toBe(2)
  expect(openApiDocument(s3).paths['/greeting']?.['get']).toMatchObject({
    operationId: 'greetings.get',
    parameters: [{ name: 'language', in: 'query', description: 'Default: en.', schema: { enum: LANGUAGES } }],
  })
})
