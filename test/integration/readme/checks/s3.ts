import { CreateBucketCommand, DeleteBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { Handler } from '@svc/db'
import { expect, inject, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { signedInAs } from './sign-in.js'

/** Uploads and downloads as a browser would, against the S3 service of the tests. */
const storesInBucket: SnippetCheck = async (program) => {
  const server = inject('s3')
  if (server.url === null) return console.warn(`Not run: docs/s3.md#bucket.ts. There is ${server.reason}`)
  const { origin, username, password } = new URL(server.url)
  const bucket = `svc-db-docs-${Date.now()}`
  const settings = {
    AWS_ENDPOINT_URL_S3: origin,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: decodeURIComponent(username),
    AWS_SECRET_ACCESS_KEY: decodeURIComponent(password),
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    S3_PATH_STYLE: 'true',
    S3_BUCKET: bucket,
  }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  const client = new S3Client({ forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))

  const { s3 } = await run<{ s3: { handler: Handler } }>(program)
  const request = (method: string, path: string, body?: object) =>
    s3.handler(
      new Request(`http://app.test/api/s3${path}`, {
        method,
        headers: { ...signedInAs('user:ann'), 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
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
  await client.send(new DeleteBucketCommand({ Bucket: bucket }))
  client.destroy()
}

export const s3Checks: SnippetChecks = {
  'docs/s3.md#bucket.ts': storesInBucket,
}
