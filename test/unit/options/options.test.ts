import { S3Client } from '@aws-sdk/client-s3'
import {
  checkStorage,
  cleanUp,
  createObjectAccessGuard,
  createQuotaGuard,
  createS3Server,
  db,
  deliverEvents,
  endUploads,
  eraseScope,
  importObjects,
  memoryStorage,
  openApiDocument,
  runJobs,
  transferScope,
} from '@svc/db'
import { createStore } from '@svc/db/adapter'
import { storeConformance, storeRaces } from '@svc/db/conformance'
import { diskStorage } from '@svc/db/disk'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { honoBinding } from '@svc/db/hono'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { redisUsageCache } from '@svc/db/redis'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it } from 'vitest'
import { createMemoryDriver } from '../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../src/adapters/memory/tables.js'
import { around } from './untouched-store.js'

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

/** Whether anything has been read or written since the last call. */
const touched = { calls: 0 }
const client = around(memoryAdapter({ events: true }), () => touched.calls++)
const storage = around(memoryStorage(), () => touched.calls++)
const resolveScope = () => 'user:1'
const onEvent = () => undefined
const plugins = [db({ client, resolveScope })]
const s3 = createS3Server({ storage, bucket: 'files', plugins, onEvent })
const quiet = createS3Server({ storage, bucket: 'files', plugins })
const pool = { query: () => touched.calls++, connect: () => touched.calls++ }
const redis = { evalsha: () => touched.calls++, eval: () => touched.calls++ }
const tests = { describe() {}, it() {} }

interface Subject {
  readonly name: string
  /** Calls the function with these options. */
  readonly call: (options: never) => unknown
  /** Accepted options, all of them. */
  readonly good: object
  /** The required ones. */
  readonly required: readonly string[]
  /** Misspelt names and what they should be; nested ones with their path. */
  readonly typos: Readonly<Record<string, string>>
  /** Options with a value that isn't accepted. */
  readonly wrong: object
}

const job = { signal: new AbortController().signal, onProgress() {} }
const part = { bucket: 'files', prefix: 'a', after: 'b' }
const jobTypos = { signall: 'signal', onprogress: 'onProgress' }

const SUBJECTS: readonly Subject[] = [
  {
    name: 'createS3Server',
    call: createS3Server,
    good: {
      ...{
        storage,
        bucket: 'files',
        buckets: ['a'],
        basePath: '/api',
        trailingSlash: true,
        plugins,
        onEvent,
      },
      routes: {
        a: { maxFileSize: 1, contentTypes: ['a/b'], key() {}, metadata: false, bucket: 'b', overwrite: true },
        'a b': { guard() {}, http: true, check: true },
        b: { check: { seconds: 60 } },
      },
      upload: { guard() {}, expiresIn: 1 },
      multipart: { guard() {}, expiresIn: 1 },
      download: { guard() {}, expiresIn: () => 1, maxExpiresIn: 1 },
      delete: { guard() {} },
      ...{ handlerSeconds: 1, waitUntil() {}, onError() {}, onOperation() {}, now: () => new Date() },
    },
    required: ['storage', 'bucket', 'plugins'],
    typos: {
      ...{ storag: 'storage', bukcet: 'bucket', onevent: 'onEvent', 'upload.gaurd': 'upload.guard' },
      ...{ 'multipart.expiresin': 'multipart.expiresIn', 'download.maxExpireIn': 'download.maxExpiresIn' },
      ...{
        'delete.guards': 'delete.guard',
        'routes.a.overwite': 'routes.a.overwrite',
        'routes.b.check.second': 'routes.b.check.seconds',
      },
    },
    wrong: { ...{ bucket: 1, routes: [], upload: 'no', download: [], plugins: {}, now: 1 } },
  },
  {
    name: 's3.verify',
    call: s3.verify,
    good: { bucket: 'files', origin: 'https://app.example', signal: new AbortController().signal },
    required: [],
    typos: { buckets: 'bucket', orign: 'origin' },
    wrong: { bucket: 1, origin: 'https://app.example/', signal: true },
  },
  {
    name: 'db',
    call: db,
    good: {
      ...{ client, resolveScope, quota: { maxBytes: 1, maxFiles: null }, mayRead() {}, usageEndpoint: true },
      isUsed: () => [],
      ...{ pendingTtlSeconds: 1, deleteMode: 'soft', bucket: 'b', basePath: '/api', onOperation() {} },
      ...{
        hooks: { onReserved() {}, onActivated() {}, onDeleted() {}, onRejected() {} },
        onError() {},
        now: () => new Date(),
      },
    },
    required: ['client', 'resolveScope'],
    typos: {
      ...{ quotas: 'quota', clients: 'client', 'quota.maxByte': 'quota.maxBytes' },
      'hooks.onReservd': 'hooks.onReserved',
    },
    wrong: {
      isUsed: [],
      quota: 'all',
      hooks: 'none',
      onError: 1,
      now: new Date(),
      basePath: 1n,
      deleteMode: 'no',
    },
  },
  {
    name: 'createObjectAccessGuard',
    call: createObjectAccessGuard,
    good: { client, resolveScope, authorize: () => true, status: 'any', now: () => new Date() },
    required: ['client', 'resolveScope'],
    typos: { authorise: 'authorize', statuss: 'status' },
    wrong: { client: {}, resolveScope: 'user', authorize: true, status: 'deleted', now: 1 },
  },
  {
    name: 'createQuotaGuard',
    call: createQuotaGuard,
    good: { client, resolveScope, maxBytes: 1, maxFiles: null },
    required: ['client', 'resolveScope'],
    typos: { maxByte: 'maxBytes', maxfiles: 'maxFiles' },
    wrong: { client: [], maxBytes: -1, maxFiles: '1' },
  },
  {
    name: 'memoryAdapter',
    call: memoryAdapter,
    good: { now: () => new Date(), objects: [], events: true },
    required: [],
    typos: { event: 'events', object: 'objects' },
    wrong: { now: 1, objects: {}, events: 'on' },
  },
  {
    name: 'postgresAdapter',
    call: (options) => postgresAdapter(pool as never, options),
    good: { schema: 'a', events: true, readPool: pool, namedStatements: false, now: () => new Date() },
    required: [],
    typos: { shema: 'schema', namedStatement: 'namedStatements', readpool: 'readPool' },
    wrong: { schema: '', readPool: {}, namedStatements: 1, now: 'now' },
  },
  {
    name: 'postgresSchema',
    call: postgresSchema,
    good: { schema: 'a', events: false },
    required: [],
    typos: { Schema: 'schema', event: 'events' },
    wrong: { schema: 1, events: 'off' },
  },
  {
    name: 'mongoAdapter',
    call: (options) => mongoAdapter(() => null, options),
    good: { collectionPrefix: 'a_', now: () => new Date(), events: true },
    required: [],
    typos: { collectionprefix: 'collectionPrefix', event: 'events' },
    wrong: { collectionPrefix: 1, now: 1, events: 1 },
  },
  {
    name: 'redisUsageCache',
    call: (options) => redisUsageCache(memoryAdapter(), redis as never, options),
    good: { ttlSeconds: 1, prefix: 'a', onError() {} },
    required: [],
    typos: { ttlSecond: 'ttlSeconds', prefx: 'prefix' },
    wrong: { ttlSeconds: 0, prefix: '{', onError: true },
  },
  {
    name: 'createStore',
    call: (options) => createStore(createMemoryDriver(new Tables()), options),
    good: { now: () => new Date() },
    required: [],
    typos: { nwo: 'now' },
    wrong: { now: 1 },
  },
  {
    name: 'migrate',
    call: (options) => memoryAdapter().migrate(options),
    good: job,
    required: [],
    typos: jobTypos,
    wrong: { signal: {}, onProgress: 1 },
  },
  {
    name: 'memoryStorage',
    call: memoryStorage,
    good: { baseURL: 'https://a.example', now: () => new Date() },
    required: [],
    typos: { baseUrl: 'baseURL' },
    wrong: { baseURL: 1n, now: 1 },
  },
  {
    name: 'diskStorage',
    call: diskStorage,
    good: { directory: '/nowhere', baseURL: null, now: null },
    required: ['directory'],
    typos: { direcotry: 'directory', baseUrl: 'baseURL' },
    wrong: { directory: 1n, baseURL: '/a', now: 1 },
  },
  {
    name: 's3Storage',
    call: s3Storage,
    good: {
      ...{ client: new S3Client({ region: 'a' }), publicClient: null, createOnly: true, maxParts: 1 },
      uploadHeaders: { 'x-amz-acl': 'private', 'x-amz-tagging': null },
      ...{ timeoutSeconds: 1, completeTimeoutSeconds: 1, idleSeconds: 1, bucketName: String, now: null },
    },
    required: ['client'],
    typos: { timeoutSecond: 'timeoutSeconds', 'uploadHeaders.x-amz-acls': 'uploadHeaders.x-amz-acl' },
    wrong: { client: {}, uploadHeaders: 'none', maxParts: 0, bucketName: 'a' },
  },
  {
    name: 'openApiDocument',
    call: (options) => openApiDocument(s3, options),
    good: { title: 'a', version: '1', serverURL: 'https://a.example' },
    required: [],
    typos: { serverUrl: 'serverURL', titel: 'title' },
    wrong: { title: 1, version: {}, serverURL: 1n },
  },
  {
    name: 'cleanUp',
    call: (options) => cleanUp(s3, options),
    good: { ...job, unconfirmed: 'discard', limit: 1, concurrency: 1, onOutcome() {} },
    required: [],
    typos: { ...jobTypos, onOutcom: 'onOutcome', limits: 'limit', concurency: 'concurrency' },
    wrong: { limit: 0, concurrency: 1001, unconfirmed: 'keep', onOutcome: 1, signal: 'stop' },
  },
  {
    name: 'transferScope',
    call: (options) => transferScope(s3, options),
    good: { ...job, from: 'user:1', to: 'user:2', quota: { maxBytes: null } },
    required: ['from', 'to'],
    typos: { ...jobTypos, form: 'from', 'quota.maxByte': 'quota.maxBytes' },
    wrong: { from: '', to: 'user:1', quota: 5 },
  },
  {
    name: 'endUploads',
    call: (options) => endUploads(s3, options),
    good: { ...job, scope: 'user:1' },
    required: ['scope'],
    typos: { ...jobTypos, scopes: 'scope' },
    wrong: { scope: '', onProgress: 1, signal: 'now' },
  },
  {
    name: 'eraseScope',
    call: (options) => eraseScope(s3, options),
    good: { ...job, scope: 'user:1' },
    required: ['scope'],
    typos: { ...jobTypos, scopes: 'scope' },
    wrong: { scope: 'a'.repeat(256), onProgress: 1 },
  },
  {
    name: 'importObjects',
    call: (options) => importObjects(s3, options),
    good: { ...job, ...part, select: () => null, concurrency: 1, dryRun: true },
    required: ['select'],
    typos: { ...jobTypos, dryrun: 'dryRun', prefixes: 'prefix' },
    wrong: { select: {}, dryRun: 'yes', concurrency: 0, bucket: '' },
  },
  {
    name: 'checkStorage',
    call: (options) => checkStorage(s3, options),
    good: { ...job, ...part, onDifference() {}, ignore: () => false, olderThanSeconds: 1 },
    required: ['onDifference'],
    typos: { ...jobTypos, olderthanSeconds: 'olderThanSeconds', afer: 'after' },
    wrong: { onDifference: 1, ignore: [], olderThanSeconds: -1 },
  },
  {
    name: 'deliverEvents',
    call: (options) => deliverEvents(client, options),
    good: {
      ...{ ...job, pollSeconds: null, claimSeconds: 1, concurrency: 1, handlerSeconds: 1, onEvent },
      ...{ onError() {}, now: () => new Date() },
    },
    required: ['onEvent'],
    typos: { ...jobTypos, pollSecond: 'pollSeconds', onevent: 'onEvent' },
    wrong: { pollSeconds: 0, concurrency: 1001, onEvent: 'log' },
  },
  {
    name: 'runJobs',
    call: (options) => runJobs(s3, options),
    good: {
      ...{ signal: AbortSignal.abort(), cleanUpEverySeconds: 1, purgeDeletedAfterSeconds: 0, onRun() {} },
      deliverEvents: { pollSeconds: 0.5, concurrency: 1 },
    },
    required: ['signal'],
    typos: {
      ...{ purgeDeletedAfterSecond: 'purgeDeletedAfterSeconds', onrun: 'onRun' },
      'deliverEvents.pollSecond': 'deliverEvents.pollSeconds',
    },
    wrong: {
      ...{ signal: {}, cleanUpEverySeconds: 0, purgeDeletedAfterSeconds: -1, deliverEvents: true, onRun: 1 },
    },
  },
  {
    name: 's3.close',
    call: (options) => quiet.close(options),
    good: { timeoutSeconds: 1 },
    required: [],
    typos: { timeoutSecond: 'timeoutSeconds' },
    wrong: { timeoutSeconds: 0 },
  },
  {
    name: 'storeConformance',
    call: storeConformance,
    good: {
      ...{
        name: 'a',
        createStore: memoryAdapter,
        createEmpty: null,
        reopen: null,
        tamper: null,
        driver: null,
      },
      ...{ close: null, test: tests, numRuns: 1, seed: 1, path: '1', shrink: true, delays: 0 },
    },
    required: ['createStore'],
    typos: { numRun: 'numRuns', createstore: 'createStore', reopn: 'reopen' },
    wrong: { numRuns: 0, createStore: {}, driver: 1 },
  },
  {
    name: 'storeRaces',
    call: storeRaces,
    good: {
      ...{ name: 'a', worker: new URL('file:///worker.js'), createPlace() {}, open() {}, test: tests },
      ...{ close: null, drop: null, processes: 2, calls: 10, execArgv: [] },
    },
    required: ['createPlace', 'open'],
    typos: { createplace: 'createPlace', worke: 'worker' },
    wrong: { processes: 1, calls: 9, drop: 1 },
  },
]

/** Returns what the function throws or rejects with, or `null`. */
async function errorOf(call: () => unknown): Promise<unknown> {
  touched.calls = 0
  try {
    await call()
    return null
  } catch (error) {
    expect(touched.calls).toBe(0)
    return error
  }
}

/** Returns a copy with a value at a path. */
function withValue(options: object, path: string, value: unknown): object {
  const [name, ...rest] = path.split('.')
  const inner = (options as Record<string, object>)[name!]
  return { ...options, [name!]: rest.length === 0 ? value : withValue(inner!, rest.join('.'), value) }
}

describe.each(SUBJECTS)('$name', ({ name, call, good, required, typos, wrong }) => {
  const errorWith = (options: unknown) => errorOf(() => call(options as never))
  const message = async (options: unknown) => {
    const error = await errorWith(options)
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }

  it('accepts all of its options, and null or undefined for each that it does not require', async () => {
    expect(await errorWith(good)).toBe(null)
    for (const value of [null, undefined]) {
      const none = Object.keys(good).filter((option) => !required.includes(option))
      // The global runner of a test must not run the suite.
      const given = Object.fromEntries(
        none
          .filter((option) => !['test', 'name', 'worker'].includes(option))
          .map((option) => [option, value]),
      )
      expect(await errorWith({ ...good, ...given })).toBe(null)
      expect(await errorWith({ ...good, surplus: value })).toBe(null)
    }
  })

  it('refuses what is no object of options', async () => {
    const wrongOptions = ['options', 5, true, [], ...(required.length > 0 ? [undefined, null] : [])]
    for (const options of wrongOptions) {
      // `deliverEvents` of a server needs no options.
      expect(await message(options)).toMatch(
        new RegExp(`^${name}: (the options must be an object|onEvent must be a function) \\(got .+\\)\\.$`),
      )
    }
    if (required.length === 0)
      for (const options of [null, undefined]) expect(await errorWith(options)).toBe(null)
  })

  it('refuses to go without a required option', async () => {
    for (const option of required) {
      for (const value of [undefined, null]) {
        expect(await message({ ...good, [option]: value })).toContain(`${name}: ${option} must be `)
      }
    }
  })

  it('names a value that it does not accept', async () => {
    for (const [option, value] of Object.entries(wrong) as [string, unknown][]) {
      expect(await message({ ...good, [option]: value })).toMatch(
        new RegExp(`^${name}: (options\\.)?${option}`),
      )
    }
  })

  it('refuses options that it does not know, and offers the nearest one', async () => {
    for (const [typo, meant] of Object.entries(typos)) {
      expect(await message(withValue(good, typo, 1))).toBe(
        `${name}: unknown option "${typo}". Did you mean "${meant}"?`,
      )
    }
    for (const far of ['surplus', 'constructor', 'toString']) {
      expect(await message({ ...good, [far]: 1 })).toMatch(
        new RegExp(`^${name}: unknown option "${far}"\\. (Allowed are|Only) .*\\.$`),
      )
    }
    const json = JSON.parse('{ "__proto__": 1 }') as object
    const polluted = Object.defineProperty(
      { ...good },
      '__proto__',
      Object.getOwnPropertyDescriptor(json, '__proto__')!,
    )
    expect(await message(polluted)).toContain(`${name}: unknown option "__proto__".`)
  })
})

describe('functions of a server', () => {
  it.each([
    cleanUp,
    transferScope,
    endUploads,
    eraseScope,
    importObjects,
    checkStorage,
    deliverEvents,
    runJobs,
    openApiDocument,
  ])('%o refuse what is no server', async (job) => {
    for (const other of [undefined, null, 'server', {}, { ...s3 }]) {
      if (job === openApiDocument && typeof (Object(other) as { handler?: unknown }).handler === 'function')
        continue
      const error = await errorOf(() => (job as (s3: unknown) => unknown)(other))
      expect(error).toBeInstanceOf(TypeError)
      expect((error as TypeError).message).toContain(`${job.name}: the first argument must be`)
    }
  })

  it.each([expressBinding, koaBinding, fastifyBinding, honoBinding])(
    '%o refuse what is no server',
    (binding) => {
      for (const other of [undefined, null, 'server', {}, { handler: 1 }, { basePath: '/' }]) {
        expect(() => binding(other as never)).toThrow(
          new TypeError(`${binding.name} expects the result of createS3Server() or db().`),
        )
      }
    },
  )
})

describe('the ids of plugins', () => {
  it.each(['handler', 'basePath', 'files', 'close', 'verify', 'db'])('can not be %s', (id) => {
    const install = () => ({ context: {}, endpoints: [] })
    const options = { storage, bucket: 'files', plugins: [...plugins, { id, install }] }
    expect(() => createS3Server(options)).toThrow(
      `createS3Server: plugins must have unique ids ("${id}" is already in use).`,
    )
  })
})
