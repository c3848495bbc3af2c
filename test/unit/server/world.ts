import {
  cleanUp,
  memoryStorage,
  type DbClientObject,
  type ObjectStorage,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { begun, PART, sendParts, type Parts } from './multipart/in-parts.js'
import {
  BUCKET,
  bytesOfSize,
  expectStatus,
  startService,
  type Service,
  type ServiceOptions,
} from './service.js'

/** One database and one bucket, which outlive every process that works with them. */

export const OWNER = 'user:1'
export const KEY = `${OWNER}/report`
const ROUTES = { docs: { key: () => KEY, overwrite: true }, others: {} }

/** Long after every reservation of these tests has lapsed, and the hour after that. */
export const LATER = 3 * HOUR

/** Stands between a process and what it works with. */
export interface Connection {
  storage(storage: ObjectStorage): ObjectStorage
  objects(objects: StorageObjectStore): StorageObjectStore
}

const DIRECT: Connection = { storage: (storage) => storage, objects: (objects) => objects }

/** What a call is to others that are made at the same moment. */
export interface CallKind {
  readonly system: 'storage' | 'store'
  readonly reads: boolean
}

const READING = /^(?:find|list|get|count|check|ping|verify|head|sign)/

type Pass = <T>(call: () => Promise<T>, kind: CallKind) => Promise<T>

/** The calls of a process to its storage and its store, each through `pass`. What the bucket serves by itself is none. */
export function connection(pass: Pass): Connection {
  function through<Part extends object>(
    system: CallKind['system'],
    part: Part,
    names = Object.keys(part) as (keyof Part & string)[],
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
      ...through('storage', storage, ['signUpload', 'signDownload', 'head', 'remove']),
      ...(storage.multipart && { multipart: through('storage', storage.multipart) }),
    }),
    objects: (objects) => through('store', objects),
  }
}

/** Where the bytes lie: a bucket of this name in a storage with this clock. */
export interface WorldPlace {
  readonly bucketName: string
  readonly storage: (now: () => Date) => ObjectStorage
}

const IN_MEMORY: WorldPlace = { bucketName: BUCKET, storage: (now) => memoryStorage({ now }) }

export function createWorld(options: ServiceOptions = {}, place: WorldPlace = IN_MEMORY) {
  const clock = new ManualClock()
  const bucket = place.storage(clock.now)
  const objects = memoryAdapter({ now: clock.now })
  const places = new Set<string>()
  const tampered = new Set<string>()
  const storage: ObjectStorage = {
    ...bucket,
    signUpload(input) {
      places.add(input.key)
      return bucket.signUpload(input)
    },
    multipart: {
      ...bucket.multipart!,
      create(input) {
        places.add(input.key)
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
    bucketName: place.bucketName,
    objects,
    /** Every place that a URL was given out for, or an upload in parts begun. */
    places,
    /** Places at which the bucket has something else than what was announced. */
    tampered,
    /** Another process. */
    start: (way: Connection = DIRECT) =>
      startService({
        pendingTtlSeconds: 3600,
        ...options,
        bucket: place.bucketName,
        routes: ROUTES,
        clock,
        storage: () => way.storage(storage),
        objects: way.objects(objects),
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

/** What an act is about: an attempt at an upload in one PUT, or, with an upload id, in parts. */
export type Subject = DbClientObject & { readonly uploadId?: string }

/** Begins an upload in parts and puts its one part. */
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

/** The first byte of what the owner has at the key; `null`: nothing. */
export type Content = number | null

/** What is active can be downloaded at every moment. */
export async function contentOf({ start, objects, bucketName }: World): Promise<Content> {
  const active = await objects.findActive({ bucket: bucketName, key: KEY })
  return active ? ((await start().as(OWNER).bytes(KEY))[0] ?? null) : null
}

/** Lets time pass and the job run until it finds nothing to do. */
export async function cleanUpUntilQuiet({ clock, start }: World): Promise<void> {
  for (let run = 0; run < 10; run++) {
    clock.advance(LATER)
    const { reservations, leftovers } = await cleanUp(start().s3)
    for (const { outcome } of [...reservations, ...leftovers]) expect(outcome).not.toBe('failed')
    if (reservations.length + leftovers.length === 0) return
  }
  throw new Error('The job still finds something to do after ten runs.')
}

/** Just the bytes of the live objects are there, and they are counted to the byte. */
export async function expectTidy({ objects, bucket, bucketName, places }: World): Promise<void> {
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
  for (const key of places) {
    const at = { bucket: bucketName, key }
    expect(await bucket.multipart!.list(at)).toEqual([])
    if (!inUse.has(key)) expect(await bucket.head(at)).toBeNull()
  }
  expect(await objects.listLeftovers()).toEqual([])
  expect(await objects.checkUsage()).toEqual([])
  const { bytes, files, reservedBytes, reservedFiles } = await objects.getScopeUsage(OWNER)
  const owned = rows.filter(({ scope }) => scope === OWNER)
  expect({ bytes, files }).toEqual({ bytes: owned.length * 3, files: owned.length })
  expect({ reservedBytes, reservedFiles }).toEqual({ reservedBytes: 0, reservedFiles: 0 })
}
