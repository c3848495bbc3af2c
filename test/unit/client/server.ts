import {
  createS3Server,
  db,
  memoryStorage,
  type DbOptions,
  type ErrorListener,
  type Quota,
  type S3ServerOptions,
  type StorageObjectStore,
} from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { onTestFinished, vi } from 'vitest'
import { stubLocalStorage } from './local-storage.js'

export interface ServerFixtureOptions {
  readonly quota?: Quota
  readonly usageEndpoint?: boolean
  readonly update?: DbOptions['update']
  readonly routes?: S3ServerOptions['routes']
  readonly multipart?: S3ServerOptions['multipart']
  readonly onError?: ErrorListener
  /** Clock of the storage and the server. */
  readonly now?: () => Date
  /** Where the storage is. Default: below the API. */
  readonly baseURL?: string
}

/** Starts a server in memory. The header `x-user` identifies the caller. */
export function startServer(options: ServerFixtureOptions = {}) {
  // Without a page, all tests of a worker would share the uploads that are kept in memory.
  if (!('document' in globalThis)) {
    stubLocalStorage()
    onTestFinished(() => void vi.unstubAllGlobals())
  }
  const { quota, usageEndpoint, update, routes, multipart, onError, now, baseURL } = options
  const objects: StorageObjectStore = memoryAdapter({ ...(now && { now }) })
  const storage = memoryStorage({ now: now ?? null, baseURL: baseURL ?? null })
  const server = createS3Server({
    storage,
    bucket: 'files',
    plugins: [
      db({
        client: objects,
        resolveScope: (request) => request.headers.get('x-user'),
        quota: quota ?? null,
        usageEndpoint: usageEndpoint ?? null,
        update: update ?? null,
      }),
    ],
    ...(routes && { routes }),
    ...(now && { now }),
    multipart: multipart ?? null,
    onError: onError ?? null,
  })
  return { server, objects, storage }
}

export type Fetch = typeof globalThis.fetch

let requestsInProgress = 0

/** Returns whether a server that `startClient` started works on a request. */
export const isServing = () => requestsInProgress > 0

export interface SentRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly credentials: RequestCredentials | undefined
}

/** Creates a client of a server in this process and records its requests. `before` may respond instead of the server. */
export function startClient(
  options: ServerFixtureOptions & {
    readonly before?: (request: Request, serve: () => Promise<Response>) => Promise<Response>
  } = {},
) {
  const { server, objects, storage } = startServer(options)
  const sent: SentRequest[] = []
  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const { method, headers } = request
    sent.push({ method, target: pathname + search, headers, credentials: init?.credentials })
    const serve = () => {
      requestsInProgress += 1
      return server.handler(request).finally(() => (requestsInProgress -= 1))
    }
    return options.before ? options.before(request, serve) : serve()
  }
  const as = (user: string | null) =>
    createS3Client({
      baseURL: 'http://files.test',
      plugins: [dbClient()],
      fetch,
      headers: user === null ? null : { 'x-user': user },
    }).api
  return { api: as('ada'), as, fetch, objects, server, storage, sent }
}

/** Downloads the bytes of a link. */
export async function bytesAt(fetch: Fetch, url: string): Promise<string> {
  const response = await fetch(url)
  return response.text()
}

export const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
