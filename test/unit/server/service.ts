import {
  cleanUp,
  createS3Server,
  db,
  memoryStorage,
  type CleanUpOptions,
  type CleanUpOutcome,
  type DbClientObject,
  type DbHooks,
  type DbOptions,
  type DbPlugin,
  type ErrorBody,
  type ErrorContext,
  type ObjectStorage,
  type S3ServerCore,
  type S3ServerOptions,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { ManualClock } from '../../conformance/clock.js'

/** A service in this process: a server with a store and a storage in memory, and callers that send it requests. */

export const ORIGIN = 'https://app.example'
export const BASE = `${ORIGIN}/api/s3`
export const BUCKET = 'files'

export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly expiresAt: string
}

export interface Begun {
  readonly object: DbClientObject
  readonly upload: SignedPut
}

export type ServiceOptions = Partial<Omit<S3ServerOptions, 'plugins' | 'storage' | 'onError' | 'now'>> & {
  /** Wraps the storage in memory. */
  readonly storage?: (memory: ObjectStorage) => ObjectStorage
  readonly objects?: StorageObjectStore
  readonly clock?: ManualClock
  readonly quota?: DbOptions['quota']
  readonly hooks?: DbHooks
  readonly pendingTtlSeconds?: number
  readonly deleteMode?: 'soft' | 'hard'
  readonly resolveScope?: DbOptions['resolveScope']
  readonly mayRead?: DbOptions['mayRead']
  readonly usageEndpoint?: boolean
  readonly update?: DbOptions['update']
  readonly visibleMetadata?: readonly string[]
  readonly isUsed?: DbOptions['isUsed']
}

export interface Reported {
  readonly error: unknown
  readonly operation: string
  readonly request: Request | undefined
}

export function startService(options: ServiceOptions = {}) {
  const {
    quota,
    hooks,
    pendingTtlSeconds,
    deleteMode,
    resolveScope,
    mayRead,
    usageEndpoint,
    update,
    visibleMetadata,
    isUsed,
    ...others
  } = options
  const { clock = new ManualClock(), storage: _, objects: __, ...rest } = others
  const { now } = clock
  const memory = memoryStorage({ now })
  const storage = options.storage?.(memory) ?? memory
  const objects = options.objects ?? memoryAdapter({ now })
  const reported: Reported[] = []
  const onError = (error: unknown, { operation, request }: ErrorContext) => {
    reported.push({ error, operation, request })
  }
  const plugin: DbPlugin = db({
    client: objects,
    resolveScope: resolveScope ?? scopeOf,
    quota: quota ?? null,
    ...(hooks && { hooks }),
    ...(pendingTtlSeconds !== undefined && { pendingTtlSeconds }),
    ...(deleteMode && { deleteMode }),
    mayRead: mayRead ?? null,
    usageEndpoint: usageEndpoint ?? null,
    update: update ?? null,
    visibleMetadata: visibleMetadata ?? null,
    isUsed: isUsed ?? null,
  })
  const s3 = createS3Server({ bucket: BUCKET, ...rest, storage, plugins: [plugin], onError, now })
  return {
    clock,
    storage,
    objects,
    s3,
    reported,
    as: (scope: string | null) => new Caller(s3.handler, scope),
    /** Returns the errors reported so far for an operation. Reports are asynchronous, hence the wait. */
    reportedBy: async (operation: string): Promise<unknown[]> => {
      await Promise.resolve()
      return reported.filter((entry) => entry.operation === operation).map(({ error }) => error)
    },
  }
}

/** Decodes the scope, which is encoded because headers lose trailing blanks. */
function scopeOf(request: Request): string | null {
  const scope = request.headers.get('x-scope')
  return scope === null ? null : decodeURIComponent(scope)
}

/** Wraps a method of the store, to simulate a database that is slow, broken, or shared. */
export function around<Name extends keyof StorageObjectStore>(
  objects: StorageObjectStore,
  name: Name,
  wrap: (call: StorageObjectStore[Name]) => StorageObjectStore[Name],
): void {
  objects[name] = wrap(objects[name].bind(objects) as StorageObjectStore[Name])
}

/** Lets the store list and count like a replica that has received nothing yet. */
export function listFromEmptyReplica({ objects }: Pick<Service, 'objects'>): void {
  around(
    objects,
    'listByScope',
    (call) => async (input) => (input.fromPrimary ? call(input) : { objects: [] }),
  )
  around(objects, 'countByScope', () => () => Promise.resolve(0))
}

export type Service = ReturnType<typeof startService>

export function bytesOfSize(size: number, fill = 7): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size).fill(fill)
}

/** Sends requests as one user, like a browser does. */
export class Caller {
  constructor(
    readonly handler: (request: Request) => Promise<Response>,
    readonly scope: string | null,
  ) {}

  request(method: string, path: string, body?: unknown): Request {
    const headers = new Headers()
    if (this.scope !== null) headers.set('x-scope', encodeURIComponent(this.scope))
    if (body !== undefined) headers.set('content-type', 'application/json')
    return new Request(`${BASE}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  send(method: string, path: string, body?: unknown): Promise<Response> {
    return this.handler(this.request(method, path, body))
  }

  /** Starts an upload, by default of a small text file. */
  begin(input: Record<string, unknown> = {}): Promise<Response> {
    return this.send('POST', '/upload', { filename: 'a.txt', contentType: 'text/plain', size: 3, ...input })
  }

  async begun(input: Record<string, unknown> = {}): Promise<Begun> {
    return (await expectStatus(await this.begin(input), 201)) as Begun
  }

  put(upload: SignedPut, bytes: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
    const { method, url } = upload
    return follow(this, url, { method, headers: { ...upload.headers, ...headers }, body: bytes })
  }

  confirm({ key, id, bucket }: { key: string; id: string; bucket?: string }): Promise<Response> {
    return this.send('POST', '/upload/confirm', { key, id, bucket })
  }

  abort({ key, id, bucket }: { key: string; id: string; bucket?: string }): Promise<Response> {
    return this.send('POST', '/upload/abort', { key, id, bucket })
  }

  download(key: string, bucket?: string): Promise<Response> {
    return this.send('GET', `/download?${reference(key, bucket)}`)
  }

  /** Requests `GET /file` with these parameters. */
  file(parameters: Readonly<Record<string, string>>): Promise<Response> {
    return this.send('GET', `/file?${new URLSearchParams(parameters).toString()}`)
  }

  delete(key: string, bucket?: string): Promise<Response> {
    return this.send('DELETE', `/object?${reference(key, bucket)}`)
  }

  /** Starts, sends, and confirms an upload. Returns the object. */
  async upload(input: Record<string, unknown> = {}, fill = 7): Promise<DbClientObject> {
    const { object, upload } = await this.begun(input)
    await expectStatus(await this.put(upload, bytesOfSize(object.declaredSize ?? 0, fill)), 200)
    const confirmed = await expectStatus(await this.confirm(object), 200)
    return (confirmed as { object: DbClientObject }).object
  }

  /** Downloads the bytes of an object. */
  async bytes(key: string): Promise<Uint8Array> {
    const { url } = (await expectStatus(await this.download(key), 200)) as { url: string }
    return fetchBytes(this, url)
  }
}

export async function fetchBytes(caller: Pick<Caller, 'handler'>, url: string): Promise<Uint8Array> {
  const response = await follow(caller, url)
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}

/** Requests a signed URL, which points to the server or to a separate bucket service. */
export function follow(
  { handler }: Pick<Caller, 'handler'>,
  url: string,
  init: RequestInit = {},
): Promise<Response> {
  return url.startsWith(ORIGIN) ? handler(new Request(url, init)) : fetch(url, init)
}

function reference(key: string, bucket?: string): string {
  return new URLSearchParams({ key, ...(bucket !== undefined && { bucket }) }).toString()
}

/** Returns the body of a response that must have this status. */
export async function expectStatus(response: Response, status: number): Promise<unknown> {
  const text = await response.text()
  if (response.status !== status) {
    throw new Error(`The response must have status ${status} (got ${response.status}): ${text}`)
  }
  return text === '' ? undefined : JSON.parse(text)
}

/** Returns the status and the error body of a response. */
export async function errorOf(response: Response): Promise<ErrorBody & { status: number }> {
  return { status: response.status, ...((await response.json()) as ErrorBody) }
}

/** Starts an upload and sends its bytes, without confirming it. */
export async function beginAndPut(
  caller: Caller,
  fill = 7,
  input: Record<string, unknown> = {},
): Promise<Begun> {
  const begun = await caller.begun(input)
  await expectStatus(await caller.put(begun.upload, bytesOfSize(3, fill)), 200)
  return begun
}

/** Cleans up, and returns what became of each item. */
export async function cleanUpItems(s3: S3ServerCore, options: CleanUpOptions = {}) {
  const items: CleanUpOutcome[] = []
  await cleanUp(s3, { ...options, onOutcome: (item) => items.push(item) })
  const ofKind = (wanted: CleanUpOutcome['kind']) =>
    items.filter(({ kind }) => kind === wanted).map(({ kind: _, ...item }) => item)
  return {
    reservations: ofKind('reservation'),
    leftovers: ofKind('leftover'),
    temporary: ofKind('temporary'),
  }
}

export function outcomesOf(items: readonly { readonly outcome: string }[]): string[] {
  return items.map(({ outcome }) => outcome)
}
