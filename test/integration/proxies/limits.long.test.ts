import express from 'express'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, type S3ClientError } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { afterAll, describe, expect, it } from 'vitest'
import { APACHE } from '../../servers/apache.js'
import { CADDY } from '../../servers/caddy.js'
import { findServer } from '../../servers/found-server.js'
import { HAPROXY } from '../../servers/haproxy.js'
import { proxyBefore } from '../../servers/http-proxy.js'
import { startHttpServer } from '../../servers/http-server.js'
import { NGINX } from '../../servers/nginx.js'
import { USER_HEADER } from '../http-table/fixture.js'
import { describeWholeCycle } from '../http-table/whole-cycle.js'

const MIB = 1024 ** 2

const reported: unknown[] = []
const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: ({ headers }) => headers.get(USER_HEADER) })],
  onError: (error) => void reported.push(error),
})
const server = await startHttpServer(express().use(expressBinding(s3)))
const proxies = await Promise.all(
  [
    { program: NGINX, refused: /^413$/ },
    // Closes the connection while the client sends, which then sees no response most of the time.
    { program: HAPROXY, refused: /^(413|no response)$/ },
    // Version 2.6 begins to pass the body on, and reports that it could not.
    { program: CADDY, refused: /^502$/ },
    { program: APACHE, refused: /^413$/ },
  ].map(async ({ program, refused }) => ({
    ...{ name: program.name, refused },
    wide: await findServer(proxyBefore(program, server.url, 16 * MIB)),
    narrow: await findServer(proxyBefore(program, server.url, 4 * MIB)),
  })),
)

afterAll(async () => {
  const started = proxies.flatMap(({ wide, narrow }) => [wide, narrow]).filter((proxy) => 'url' in proxy)
  await Promise.all(started.map((proxy) => proxy.stop()))
  await server.stop()
})

describe.each(proxies)('$name', ({ wide, narrow, refused }) => {
  if (!('url' in wide) || !('url' in narrow)) {
    it.skip(`is missing: ${'reason' in wide ? wide.reason : ''}`)
    return
  }

  describe('with a limit of 16 MiB', () => {
    describeWholeCycle(() => wide.url)
  })

  it.each([
    ['one PUT', 12],
    ['parts', 20],
  ])(
    'with a limit of 4 MiB, refuses %s of a file of %d MiB, and client and server say how',
    async (_, size) => {
      reported.length = 0
      const { api } = createS3Client({
        baseURL: narrow.url,
        headers: { [USER_HEADER]: 'user:2' },
        plugins: [],
      })
      const upload = api.upload(new File([new Uint8Array(size * MIB)], 'film.mp4'))
      const error = await upload.catch((error: unknown) => error as S3ClientError)
      expect(error).toMatchObject({ method: 'PUT', path: null })
      const status = (error as S3ClientError).status ?? 'no response'
      expect(`${status}`).toMatch(refused)
      const report =
        status === 'no response' ? 'it closed the connection early' : `refused a PUT with status ${status}`
      // An attempt before the last one, which saw a response, may have seen none.
      const isEarlier = (text: string) =>
        status !== 'no response' &&
        refused.test('no response') &&
        text.includes('closed the connection early')
      await expect
        .poll(() => reported.map(String).filter((text) => !isEarlier(text)))
        .toEqual([expect.stringMatching(report)])
      expect(await s3.db.objects.getScopeUsage('user:2')).toMatchObject({ files: 0, bytes: 0 })
    },
  )
})
