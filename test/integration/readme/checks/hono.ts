import type { Hono } from 'hono'
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

export const honoChecks: SnippetChecks = {
  'docs/hono.md#hono-app.ts': servesWithTokens,
}
