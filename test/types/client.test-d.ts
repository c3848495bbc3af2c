import type { S3ClientError } from '@svc/db/client'
import {
  createS3Client,
  dbClient,
  type ClientPlugin,
  type DbApi,
  type DbClientObject,
  type ErrorCode,
  type ErrorParams,
  type ObjectPage,
  type S3Api,
  type SettledUploads,
  type UnfinishedUpload,
  type UploadRules,
  type UploadState,
  type UsageAndQuota,
} from '@svc/db/client'
import {
  createUploadQueue,
  type QueuedUpload,
  type UploadQueue,
  type UploadQueueSnapshot,
} from '@svc/db/uploads'
import { describe, expectTypeOf, it } from 'vitest'

describe('reading', () => {
  const { api } = createS3Client({ plugins: [dbClient()] })

  it('takes a key or an id', () => {
    expectTypeOf(api.fileURL({ key: 'a', disposition: 'inline' })).toEqualTypeOf<string>()
    api.fileURL({ id: 'a' })
    // @ts-expect-error -- a bucket belongs to a key
    api.fileURL({ id: 'a', bucket: 'b' })
    // @ts-expect-error -- neither
    api.fileURL({ disposition: 'inline' })
    // @ts-expect-error -- no such disposition
    api.fileURL({ key: 'a', disposition: 'Inline' })
  })

  it('returns usage and quota', () => {
    expectTypeOf(api.db.getUsage()).resolves.toEqualTypeOf<UsageAndQuota>()
    expectTypeOf<UsageAndQuota['quota']>().toEqualTypeOf<{
      readonly maxBytes?: number
      readonly maxFiles?: number
    }>()
  })
})

describe('createS3Client', () => {
  it('has api.db only with dbClient() in plugins', () => {
    const withDb = createS3Client({ plugins: [dbClient()] })
    expectTypeOf(withDb.api).toEqualTypeOf<S3Api & { readonly db: DbApi }>()
    expectTypeOf(withDb.useApi()).toEqualTypeOf(withDb.api)

    const without = createS3Client({ plugins: [] })
    expectTypeOf(without.api).not.toHaveProperty('db')
    expectTypeOf(without.api).toHaveProperty('upload')
    // @ts-expect-error -- no api.db without dbClient()
    void without.api.db
    // @ts-expect-error -- no api.db from useApi() either
    void without.useApi().db
  })

  it('accepts plugins from a variable and third-party plugins', () => {
    const plugins = [dbClient()]
    expectTypeOf(createS3Client({ plugins }).api.db).toEqualTypeOf<DbApi>()

    const tags: ClientPlugin<'tags', { all(): string[] }> = {
      id: 'tags',
      createApi: () => ({ all: () => [] }),
    }
    const { api } = createS3Client({ plugins: [dbClient(), tags] })
    expectTypeOf(api.tags.all()).toEqualTypeOf<string[]>()
    expectTypeOf(api.db).toEqualTypeOf<DbApi>()
    expectTypeOf(createS3Client({ plugins: [tags] }).api).not.toHaveProperty('db')
  })

  it('requires plugins and accepts the documented options', () => {
    // @ts-expect-error -- plugins is required
    createS3Client({})
    // @ts-expect-error -- not a plugin
    createS3Client({ plugins: [dbClient] })
    // @ts-expect-error -- no such mode
    createS3Client({ plugins: [], credentials: 'always' })
    // @ts-expect-error -- the account is needed at once
    createS3Client({ plugins: [], account: async () => 'ada' })
    // @ts-expect-error -- not a string
    createS3Client({ plugins: [], account: 5 })
    createS3Client({ plugins: [], account: 'ada' })
    createS3Client({ plugins: [], account: () => null })
    createS3Client({ plugins: [], headers: { authorization: 'x' } })
    createS3Client({ plugins: [], headers: () => ({ authorization: 'x' }) })
    createS3Client({ plugins: [], headers: async () => new Headers() })
    createS3Client({ plugins: [], fetch, basePath: '/files', baseURL: undefined, credentials: 'include' })
  })
})

describe('api', () => {
  const { api } = createS3Client({ plugins: [dbClient()] })

  it('returns client records from list and get', () => {
    expectTypeOf(api.db.listObjects()).resolves.toEqualTypeOf<ObjectPage<DbClientObject>>()
    expectTypeOf(api.db.getObject({ key: 'a' })).resolves.toEqualTypeOf<DbClientObject | null>()
    const change = { filename: 'b', metadata: null, setMetadata: { album: null } } as const
    expectTypeOf(api.db.updateObject({ id: 'a', ...change })).resolves.toEqualTypeOf<DbClientObject>()
    // @ts-expect-error neither a key nor an id
    void api.db.updateObject({ filename: 'b' })
    expectTypeOf<DbClientObject>().not.toHaveProperty('scope')
    const cursor: string | undefined = undefined
    void api.db.listObjects({ status: 'pending', limit: 10, cursor, route: null })
    // @ts-expect-error -- no such status
    void api.db.listObjects({ status: 'gone' })
    // @ts-expect-error -- the scope is always that of the caller
    void api.db.listObjects({ scope: 'user:1' })
    // @ts-expect-error -- a key is required
    void api.db.getObject({})
  })

  it('settles and lists unfinished uploads, and limits every call', () => {
    const limit = { signal: new AbortController().signal, timeoutSeconds: 5 }
    expectTypeOf(api.settleUploads(limit)).resolves.toEqualTypeOf<SettledUploads>()
    expectTypeOf(api.unfinishedUploads(limit)).resolves.toEqualTypeOf<readonly UnfinishedUpload[]>()
    expectTypeOf<UnfinishedUpload['object']>().toEqualTypeOf<DbClientObject>()
    expectTypeOf<UnfinishedUpload['discard']>().returns.resolves.toEqualTypeOf<void>()
    void api.download({ key: 'a', ...limit })
    void api.delete({ key: 'a', ...limit })
    void api.db.listObjects(limit)
    void api.db.getObject({ key: 'a', ...limit })
    const onState = (state: UploadState) =>
      expectTypeOf(state).toEqualTypeOf<'waiting' | 'sending' | 'confirming'>()
    void api.upload(new File([], 'a'), { ...limit, onState })
    // @ts-expect-error -- not a number
    void api.download({ key: 'a', timeoutSeconds: '5' })
  })

  it('uploads, downloads and deletes', () => {
    const file = new File([], 'a')
    expectTypeOf(api.upload(file)).resolves.toEqualTypeOf<DbClientObject>()
    expectTypeOf(api.upload).parameter(0).toEqualTypeOf<Blob>()
    expectTypeOf(api.download({ key: 'a' })).resolves.toEqualTypeOf<{
      readonly url: string
      readonly expiresAt: string
    }>()
    expectTypeOf(api.delete({ key: 'a', bucket: 'b' })).resolves.toEqualTypeOf<void>()
    void api.upload(file, {
      route: 'docs',
      metadata: { album: 'summer' },
      onProgress: (progress) => expectTypeOf(progress.loaded).toEqualTypeOf<number>(),
    })
    // @ts-expect-error -- metadata values are strings
    void api.upload(file, { metadata: { year: 2026 } })
    // @ts-expect-error -- a list of files is not a file
    void api.upload([file])
  })
})

describe('S3ClientError', () => {
  it('has a server or client code and an optional status', () => {
    expectTypeOf<S3ClientError['code']>().toEqualTypeOf<
      | ErrorCode
      | 'NETWORK_ERROR'
      | 'ABORTED'
      | 'PAUSED'
      | 'TIMEOUT'
      | 'UNEXPECTED_RESPONSE'
      | 'FILE_UNREADABLE'
      | 'CODE_UNAVAILABLE'
    >()
    expectTypeOf<S3ClientError['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<S3ClientError['params']>().toEqualTypeOf<ErrorParams | undefined>()
    expectTypeOf<S3ClientError>().toExtend<Error>()
  })
})

describe('createUploadQueue', () => {
  const { api } = createS3Client({ plugins: [] })
  const queue = createUploadQueue(api, { concurrency: 2, route: 'photos', metadata: { album: 'summer' } })

  it('takes a file or an iterable of files, and returns their ids', () => {
    expectTypeOf(queue).toEqualTypeOf<UploadQueue>()
    expectTypeOf(queue.add).returns.toEqualTypeOf<string[]>()
    expectTypeOf<Blob | FileList | readonly File[] | Set<Blob>>().toExtend<
      Parameters<UploadQueue['add']>[0]
    >()
    queue.add(new Blob([]), { route: 'films' })
    // @ts-expect-error -- no file
    queue.add('a.txt')
    // @ts-expect-error -- concurrency is for the whole queue
    queue.add(new Blob([]), { concurrency: 2 })
    // @ts-expect-error -- no such file to remove
    queue.remove()
  })

  it('fits useSyncExternalStore, and has snapshots that pages cannot change', () => {
    const use = <Snapshot>(_subscribe: (changed: () => void) => () => void, _get: () => Snapshot) =>
      ({}) as Snapshot
    const snapshot = use(queue.subscribe, queue.getSnapshot)
    expectTypeOf(snapshot).toEqualTypeOf<UploadQueueSnapshot>()
    expectTypeOf(snapshot.items).toEqualTypeOf<readonly QueuedUpload[]>()
    expectTypeOf(snapshot.secondsLeft).toEqualTypeOf<number | null>()
    // @ts-expect-error -- readonly
    snapshot.items[0]!.state = 'done'
  })

  it('has the states of a file, and what belongs to them', () => {
    expectTypeOf<QueuedUpload['state']>().toEqualTypeOf<
      'queued' | 'uploading' | 'waiting' | 'confirming' | 'paused' | 'done' | 'failed'
    >()
    expectTypeOf<QueuedUpload['error']>().toEqualTypeOf<S3ClientError | undefined>()
    expectTypeOf<QueuedUpload['object']>().toEqualTypeOf<DbClientObject | undefined>()
  })

  it('takes an api of which only the uploads are there', () => {
    const upload: S3Api['upload'] = (file, options) => api.upload(file, options)
    createUploadQueue({ upload, uploadRules: api.uploadRules })
    // @ts-expect-error -- no rules
    createUploadQueue({ upload })
  })
})

describe('api.uploadRules', () => {
  it('has limits that may be missing', () => {
    const { api } = createS3Client({ plugins: [] })
    expectTypeOf(api.uploadRules).returns.resolves.toEqualTypeOf<{
      readonly routes: Readonly<Record<string, UploadRules>>
    }>()
    expectTypeOf<UploadRules>().toEqualTypeOf<{
      readonly maxFileSize: number | null
      readonly contentTypes: readonly string[] | null
      readonly multipart: boolean
    }>()
  })
})
