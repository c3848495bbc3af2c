import { StorageError, type ErrorCode } from '@svc/db'
import { Hono, type ErrorHandler } from 'hono'
import { sign } from 'hono/jwt'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

const servesWithTokens: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Hono }>(program)
  expect((await app.request('/api/s3/db/objects')).status).toBe(401)
  const token = await sign({ sub: 'ann' }, 'replace with a secret', 'HS256')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 5 })
  const begun = await app.request('/api/s3/upload', { method: 'POST', headers, body })
  const { upload } = (await begun.json()) as { upload: { url: string; headers: Record<string, string> } }
  // The signed URL needs no token.
  const put = await app.request(upload.url, { method: 'PUT', headers: upload.headers, body: 'hello' })
  expect(put.status).toBe(200)
}

const sendsErrorsOfGuards: SnippetCheck = async (program) => {
  const { sendStorageErrors } = await run<{ sendStorageErrors: ErrorHandler }>(program)
  const app = new Hono().onError(sendStorageErrors)
  app.get('/:code', (c) => {
    throw new StorageError(c.req.param('code') as ErrorCode)
  })
  const missing = await app.request('/OBJECT_NOT_FOUND')
  expect([missing.status, await missing.json()]).toMatchObject([404, { code: 'OBJECT_NOT_FOUND' }])
  expect((await app.request('/DATABASE_UNAVAILABLE')).status).toBe(500)
}

export const honoChecks: SnippetChecks = {
  'docs/hono.md#hono-errors.ts': sendsErrorsOfGuards,
  'docs/hono.md#hono-app.ts': servesWithTokens,
}
