import type { S3ServerCore } from '@svc/db'
import { createS3Client } from '@svc/db/client'
import { expect } from 'vitest'
import { run, type SnippetChecks } from '../programs.js'

interface LazyServer {
  readonly getServer: () => Promise<S3ServerCore>
  readonly handle: (request: Request) => Promise<Response>
}

async function servesLazily(program: string): Promise<void> {
  const { getServer, handle } = await run<LazyServer>(program)
  const { api } = createS3Client({
    ...{ baseURL: 'http://app.test', plugins: [], headers: { 'x-signed-in-as': 'user:ann' } },
    fetch: (input, init) => handle(new Request(input, init)),
  })
  expect(await api.upload(new File(['abc'], 'a.txt'))).toMatchObject({ status: 'active', size: 3 })
  expect(await getServer()).toBe(await getServer())
  expect(globalThis).toHaveProperty('s3')
  Reflect.deleteProperty(globalThis, 's3')
}

export const nextjsChecks: SnippetChecks = { 'docs/nextjs.md#lazy-server.ts': servesLazily }
