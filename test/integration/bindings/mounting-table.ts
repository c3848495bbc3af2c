import { expect, it } from 'vitest'
import { echoOf } from './echo.js'
import type { Listening } from './listening.js'

/** A way to mount the binding of the echo in an application. */
export interface Mount<App, Binding> {
  readonly how: string
  readonly mount: (app: App, binding: Binding) => unknown
  /** Maps a path to the base path that the library gets; `null`: the next handler gets the request. */
  readonly paths: Paths
}

type Paths = Readonly<Record<string, string | null>>

/** Paths by kind of mount, the same in every framework. */
export const mountedPaths = {
  /** Mounted at the root. */
  root: {
    '/api/s3/db/objects': '/api/s3',
    '/api/s3': '/api/s3',
    '/api/s3/': '/api/s3',
    '/api/s3?cursor=/x': '/api/s3',
    '/api/s3//db': '/api/s3',
    '/api/s3x': null,
    '/api/s3.json': null,
    '/api': null,
    '/': null,
    '/API/S3/db': null,
    '/api/%733/db': null,
    '/v1/api/s3/db': null,
    '/?/api/s3/db': null,
  },
  /** Mounted at `/api/s3`. */
  base: {
    '/api/s3/db/objects': '/api/s3',
    '/api/s3': '/api/s3',
    '/api/s3/': '/api/s3',
    '/api/s3?limit=1': '/api/s3',
    '/api/s3/api/s3/db': '/api/s3',
    '/api/s3x': null,
    '/API/S3/db': null,
  },
  /** Mounted at `/v1`. */
  prefix: {
    '/v1/api/s3/db': '/v1/api/s3',
    '/v1/api/s3': '/v1/api/s3',
    '/v1/api/s3?limit=1': '/v1/api/s3',
    '/v1/db': null,
    '/v1': null,
    '/api/s3/db': null,
  },
} as const satisfies Record<string, Paths>

/** `serve` serves the mounted echo, and behind it `the next handler` with status 404. */
export function describeMounts<M extends Mount<never, never>>(
  mounts: readonly M[],
  serve: (mount: M) => Promise<Listening>,
): void {
  it.for(mounts)('$how', async (mount) => {
    const { url } = await serve(mount)
    for (const [path, basePath] of Object.entries(mount.paths)) {
      const response = await fetch(url + path)
      if (basePath === null) {
        expect([path, response.status, await response.text()]).toEqual([path, 404, 'the next handler'])
      } else {
        expect(await echoOf(response)).toMatchObject({ url: url + path, basePath })
      }
    }
  })
}
