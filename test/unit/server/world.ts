import { memoryStorage, type DbClientObject, type ObjectStorage, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { begun, PART, sendParts, type Parts } from './multipart/in-parts.js'
import {
  cleanUpItems,
  BUCKET,
  bytesOfSize,
  expectStatus,
  startService,
  type Service,
  type ServiceOptions,
} from './service.js'

/** A database and a bucket that survive the crash of any process that uses them. */

export const OWNER = 'user:1'
export const KEY = `${OWNER}/report`
const ROUTES = { docs: { key: () => KEY, overwrite: true }, others: {} }

/** Long enough for every reservation in these tests to expire, plus the grace period. */
export const LATER = 3 * HOUR

/** Wraps the storage and the store of a process. */
export interface Connection {
  storage(storage: ObjectStorage): ObjectStorage
  objects(objects: StorageObjectStore): StorageObjectStore
}

const DIRECT: Connection = { storage: (storage) => storage, objects: (objects) => objects }

/** Decides whether a call can conflict with a concurrent one. */
export interface CallKind {
  readonly system: 'storage' | 'store'
  readonly reads: boolean
}

const READING = /^(?:find|list|get|count|check|ping|verify|head|sign|read)/

type Pass = <T>(call: () => Promise<T>, kind: CallKind) => Promise<T>

/** Passes each call to the storage and the store through `pass`. Requests to signed URLs are not included. */
export function interceptCalls(pass: Pass): Connection {
  function through<Part extends object>(
    system: CallKind['system'],
    part: Part,
    names = (Object.keys(part) as (keyof Part & string)[]).filter((name) => typeof part[name] === 'function'),
  ): Part {
    const calls = names.map((name) => {
      const call = part[name] as (...input: unknown[]) => Promise<unknown>
      const kind: CallKind = { system, reads: READING.test(name) }
      return [name, (...input: unknown[]) => pass(() => call(...input), kind)]
    })
    return { ...part, ...(Object.fromEntries(calls) as Partial<Part>) }
  }
  return {
    storage: (storage) => ({
      ...through('storage', storage, [
        'signUpload',
        'signDownload',
        'head',
        'remove',
        'write',
        'read',
        'list',
      ]),
      ...(storage.multipart && { multipart: through('storage', storage.multipart) }),
    }),
    objects: (objects) => through('store', objects),
  }
}

/** A bucket and its storage. */
export interface WorldBucket {
  readonly bucketName: string
  readonly storage: (now: () => Date) => ObjectStorage
}

const IN_MEMORY: WorldBucket = { bucketName: BUCKET, storage: (now) => memoryStorage({ now }) }

export function createWorld(
  options: ServiceOptions = {},
  location: WorldBucket = IN_MEMORY,
  clock = new ManualClock(),
  objects: StorageObjectStore = memoryAdapter({ now: clock.now }),
) {
  const bucket = location.storage(clock.now)
  const storageKeys = new Set<string>()
  const tampered = new Set<string>()
  const storage: ObjectStorage = {
    ...bucket,
    signUpload(input) {
      storageKeys.add(input.key)
      return bucket.signUpload(input)
    },
    write(input) {
      storageKeys.add(input.key)
      return bucket.write!(input)
    },
    multipart: {
      ...bucket.multipart!,
      create(input) {
        storageKeys.add(input.key)
        return bucket.multipart!.create(input)
      },
    },
    async head(at) {
      const stored = await bucket.head(at)
      return stored && tampered.has(at.key) ? { ...stored, size: stored.size + 1 } : stored
    },
  }
  return {
    clock,
    bucket,
    bucketName: location.bucketName,
    objects,
    /** The keys of every signed upload URL and every multipart upload. */
    storageKeys,
    /** The keys whose bytes appear to differ from the upload request. */
    tampered,
    /** Starts another process. */
    start: (connection: Connection = DIRECT) =>
      startService({
        pendingTtlSeconds: 3600,
        ...options,
        bucket: location.bucketName,
        routes: ROUTES,
        clock,
        storage: () => connection.storage(storage),
        objects: connection.objects(objects),
      }),
  }
}

export type World = ReturnType<typeof createWorld>

export const uploadReport = (service: Service, fill: number): Promise<DbClientObject> =>
  service.as(OWNER).upload({ route: 'docs' }, fill)

export async function putReport(service: Service, fill: number): Promise<DbClientObject> {
  const begun = await service.as(OWNER).begun({ route: 'docs' })
  await expectStatus(await service.as(OWNER).put(begun.upload, bytesOfSize(3, fill)), 200)
  return begun.object
}

/** An attempt at a single-PUT upload, or, with an upload id, at a multipart upload. */
export type Subject = DbClientObject & { readonly uploadId?: string }

/** Starts a multipart upload and sends its only part. */
export async function putReportInParts(service: Service, fill: number): Promise<Subject> {
  const parts = await begun(service.as(OWNER), { route: 'docs' })
  await sendParts(service.as(OWNER), parts, { fill })
  return { ...parts.object, uploadId: parts.uploadId }
}

export const partsOf = (subject: Subject): Parts => ({
  object: subject,
  uploadId: subject.uploadId ?? '',
  partSize: PART,
})

/** The first byte of the owner's object, or `null` if there is none. */
export type Content = number | null

/** Downloads the active object, which must always succeed. An object past its end is missing. */
export async function contentOf({ start, objects, bucketName, clock }: World): Promise<Content> {
  const active = await objects.findActive({ bucket: bucketName, key: KEY })
  const isThere = active !== null && (active.temporaryUntil ?? clock.in(1)) > clock.now()
  return isThere ? ((await start().as(OWNER).bytes(KEY))[0] ?? null) : null
}

/** Advances the clock and runs cleanUp until there is nothing left to do. */
export async function cleanUpUntilDone({ clock, start }: World): Promise<void> {
  for (let run = 0; run < 10; run++) {
    clock.advance(LATER)
    const items = Object.values(await cleanUpItems(start().s3)).flat()
    for (const { outcome } of items) expect(outcome).not.toBe('failed')
    if (items.length === 0) return
  }
  throw new Error('cleanUp still has work to do after 10 runs.')
}

/** Expects the bucket to hold exactly the bytes of the active objects, and usage to match them. */
export async function expectConsistent({ objects, bucket, bucketName, storageKeys }: World): Promise<void> {
  const rows = []
  for (const scope of [OWNER, 'user:2']) rows.push(...(await objects.listByScope({ scope })).objects)
  const inUse = new Set(rows.map(({ storageKey }) => storageKey))
  for (const row of rows) {
    expect(row.status).toBe('active')
    expect(await bucket.head({ bucket: bucketName, key: row.storageKey! })).toMatchObject({
      size: row.size,
      eTag: row.eTag,
      attemptId: row.attemptId,
    })
  }
  for (const key of storageKeys) {
    const at = { bucket: bucketName, key }
    expect(await bucket.multipart!.list(at)).toEqual([])
    if (!inUse.has(key)) expect(await bucket.head(at)).toBeNull()
  }
  expect(await objects.listLeftovers()).toEqual([])
  expect(await objects.checkUsage()).toEqual([])
  const { bytes, files, reservedBytes, reservedFiles } = await objects.getScopeUsage(OWNER)
  const owned = rows.filter(({ scope }) => scope === OWNER)
  const size = owned.reduce((sum, row) => sum + (row.size ?? 0), 0)
  expect({ bytes, files }).toEqual({ bytes: size, files: owned.length })
  expect({ reservedBytes, reservedFiles }).toEqual({ reservedBytes: 0, reservedFiles: 0 })
}
