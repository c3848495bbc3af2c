import { expect, vi } from 'vitest'
import { run, runApart, type SnippetChecks } from '../programs.js'
import { ask, type HandlerProgram } from './app-client.js'
import { withBucket } from './bucket-of-tests.js'

/** Uploads and downloads as a browser would, against the S3 service of the tests. */
const storesInBucket = withBucket('docs/s3.md#bucket.ts', async (program, { bucket, origin }) => {
  const server = await run<HandlerProgram>(program)
  const request = (...request: [method: string, path: string, body?: object]) =>
    ask(server, 'user:ann', ...request)
  const file = { filename: 'ü.txt', contentType: 'text/plain', size: 5 }
  const { object, upload } = (await (await request('POST', '/upload', file)).json()) as {
    object: { key: string; id: string }
    upload: { url: string; headers: Record<string, string> }
  }
  expect(upload.url.startsWith(`${origin}/${bucket}/`)).toBe(true)
  const sent = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: 'hello' })
  expect(sent.status).toBe(200)
  const { key, id } = object
  expect((await request('POST', '/upload/confirm', { key, id })).status).toBe(200)
  const download = await request('GET', `/download?key=${encodeURIComponent(key)}`)
  const { url } = (await download.json()) as { url: string }
  expect(await (await fetch(url)).text()).toBe('hello')
  expect((await request('DELETE', `/object?key=${encodeURIComponent(key)}`)).status).toBe(204)
})

/** Gives browsers another address of the same service, at which nothing listens. */
const signsForBrowsers = withBucket('docs/s3.md#public-address.ts', async (program, { bucket, origin }) => {
  vi.stubEnv('S3_ENDPOINT', origin)
  vi.stubEnv('S3_PUBLIC_ENDPOINT', 'http://files.example')
  const server = await run<HandlerProgram>(program)
  const file = { filename: 'a.txt', contentType: 'text/plain', size: 5 }
  const begun = await ask(server, 'user:ann', 'POST', '/upload', file)
  const { object, upload } = (await begun.json()) as {
    object: { key: string; id: string }
    upload: { url: string }
  }
  expect(upload.url.startsWith(`http://files.example/${bucket}/`)).toBe(true)
  // The server itself looks at the internal address.
  const { key, id } = object
  expect((await ask(server, 'user:ann', 'POST', '/upload/confirm', { key, id })).status).toBe(409)
})

/** The bucket has no CORS rules, and everything else that uploads need. */
const checksService = withBucket('docs/s3.md#check-service.ts', async (program) => {
  // The storage of the page has the bucket of another check in this process.
  expect(await runApart(program)).toMatch(
    /^cors: Bucket .* does not let pages of https:\/\/app\.example upload.*\n$/,
  )
})

export const s3Checks: SnippetChecks = {
  'docs/s3.md#bucket.ts': storesInBucket,
  'docs/s3.md#check-service.ts': checksService,
  'docs/s3.md#public-address.ts': signsForBrowsers,
}
