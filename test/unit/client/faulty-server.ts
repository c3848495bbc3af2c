import { createS3Client, type S3ClientError } from '@svc/db/client'
import { SECOND, timeUntilSettled } from './fake-time.js'
import { startClient, type Fetch, type ServerFixtureOptions } from './server.js'
import { MULTIPART_MIN_SIZE } from '../../../src/client/upload/sizes.js'

type Serve = () => Promise<Response>
/** Responds in the server's place, or returns `undefined`. */
export type Fault = (serve: Serve, call: number) => Promise<Response> | undefined

export const MIB = 1024 ** 2
/** A file that is sent in one PUT. */
export const small = () => new File(['x'.repeat(1000)], 'a.txt', { type: 'text/plain', lastModified: 1 })
/** A file that is sent in three parts. */
export const large = () => new File([new Uint8Array(MULTIPART_MIN_SIZE + 3)], 'film.mp4', { lastModified: 1 })

export const lost = () => Promise.reject(new TypeError('fetch failed'))
export const silent = () => new Promise<Response>(() => undefined)
export const page = (status: number, headers = {}) =>
  Promise.resolve(new Response('<h1>No</h1>', { status, headers }))
export const refusal = (status: number, code: string) =>
  Promise.resolve(Response.json({ code, message: 'No.' }, { status }))

/** Starts a client whose requests to a path meet faults. `log` has all requests, such as `POST /upload` and `PUT`. */
export function start(faults: Readonly<Record<string, Fault>> = {}, options: ServerFixtureOptions = {}) {
  const log: string[] = []
  const bodies: Record<string, unknown>[] = []
  const client = startClient({
    onError: () => undefined,
    ...options,
    before: async (request, serve) => {
      const { pathname } = new URL(request.url)
      const line = request.method === 'PUT' ? 'PUT' : `${request.method} ${pathname.replace('/api/s3', '')}`
      log.push(line)
      if (request.method === 'POST') bodies.push({ line, ...((await request.clone().json()) as object) })
      const call = log.filter((other) => other === line).length
      return (await faults[line]?.(serve, call)) ?? serve()
    },
  })
  const count = (line: string) => log.filter((other) => other === line).length
  return { ...client, log, bodies, count, usage: () => client.objects.getScopeUsage('ada') }
}

/** Creates a client of the same server with another `fetch`. */
export const clientWith = (fetch: Fetch) =>
  createS3Client({ baseURL: 'http://files.test', plugins: [], fetch, headers: { 'x-user': 'ada' } })

/** Runs a call on fake time. Resolves to its result, or to its error, and the seconds that it took. */
export async function timed<Result>(
  call: Promise<Result>,
): Promise<{ result: Result | S3ClientError; seconds: number }> {
  const seconds = (await timeUntilSettled(call)) / SECOND
  return { seconds, result: await call.catch((error: unknown) => error as S3ClientError) }
}

/** Meets the first requests to a path with a fault. */
export const first =
  (times: number, fault: () => Promise<Response>): Fault =>
  (_serve, call) =>
    call <= times ? fault() : undefined
