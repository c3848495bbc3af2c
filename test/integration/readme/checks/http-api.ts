import type { Express } from 'express'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

const servesOpenApiDocument: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  const response = await fetch(`${origin}/openapi.json`)
  expect(await response.json()).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Files' },
    servers: [{ url: 'https://app.example/api/s3' }],
    paths: { '/upload': { post: { operationId: 'upload' } }, '/db/objects': { get: {} } },
    security: [{ session: [] }],
  })
}

export const httpApiChecks: SnippetChecks = {
  'docs/http-api.md#openapi.ts': servesOpenApiDocument,
}
