import {
  createAttemptId,
  createS3Server,
  db,
  memoryStorage,
  StorageError,
  type DbClientObject,
  type Handler,
  type ObjectStorage,
  type StorageObject,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'

/** The input of a binding. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** Serves a server until the tests are over. Returns the absolute URL of its base path. */
export type Serve = (s3: Served) => Promise<string>

/** The header that contains the user. Requests without it are unauthenticated. */
export const USER_HEADER = 'x-user'

const day = new Date('2026-01-02T03:04:05.678Z')
const mine = { scope: 'user:1', bucket: 'files', createdAt: day }

const rows = {
  photo: {
    ...mine,
    id: createAttemptId(),
    key: 'photos/1.jpg',
    filename: 'Urlaub ☀.jpg',
    contentType: 'image/jpeg',
    size: 10,
    route: 'photos',
    metadata: { secret: 'never shown' },
    eTag: '"never-shown"',
    storageKey: 'never/shown',
  },
  report: { ...mine, id: createAttemptId(), key: 'reports/ä b+c%#?&=/ü.pdf', size: 5, route: 'reports' },
  archived: { ...mine, id: createAttemptId(), bucket: 'archive', key: 'photos/1.jpg' },
  draft: {
    ...mine,
    id: createAttemptId(),
    key: 'drafts/1',
    status: 'pending' as const,
    declaredSize: 7,
    uploadId: 'never shown',
  },
  replacement: {
    ...mine,
    id: createAttemptId(),
    key: 'photos/1.jpg',
    status: 'pending' as const,
    declaredSize: 20,
  },
  gone: { ...mine, id: createAttemptId(), key: 'gone.txt', status: 'deleted' as const, size: 3 },
  foreign: { scope: 'user:2', bucket: 'files', id: createAttemptId(), key: 'foreign.txt', createdAt: day },
  shared: {
    scope: 'user:4',
    bucket: 'files',
    id: createAttemptId(),
    key: 'shared.png',
    contentType: 'image/png',
    metadata: { shared: 'yes' },
    createdAt: day,
  },
}

/** The objects as they are stored. */
export const seeds: readonly SeedObject[] = Object.values(rows)

/** Opens a store with the objects of the table, or an empty one. */
export type OpenStore = (contents: 'objects' | 'nothing') => StorageObjectStore

export const openInMemory: OpenStore = (contents) =>
  memoryAdapter({ objects: contents === 'objects' ? seeds : [] })

/** What the API returns of every object. */
const common = ({ id, bucket, key }: { id: string; bucket: string; key: string }) => ({
  ...{ id, bucket, key },
  createdAt: day.toISOString(),
})

/** The objects as the API returns them. */
export const objects = {
  photo: {
    ...common(rows.photo),
    status: 'active',
    filename: 'Urlaub ☀.jpg',
    contentType: 'image/jpeg',
    size: 10,
    route: 'photos',
  },
  report: { ...common(rows.report), status: 'active', size: 5, route: 'reports' },
  archived: { ...common(rows.archived), status: 'active', size: 0 },
  draft: { ...common(rows.draft), status: 'pending', declaredSize: 7 },
  replacement: { ...common(rows.replacement), status: 'pending', declaredSize: 20 },
  gone: { ...common(rows.gone), status: 'deleted', size: 3 },
  foreign: { ...common(rows.foreign), status: 'active', size: 0 },
  shared: { ...common(rows.shared), status: 'active', contentType: 'image/png', size: 0 },
} satisfies Record<string, DbClientObject>

/** Creates a server with these objects. Uploads go to the given storage and bucket. */
export function serverWithObjects(target: Partial<UploadTarget> = {}, open = openInMemory) {
  return serverOver(open('objects'), target)
}

export interface UploadTarget {
  readonly storage: ObjectStorage
  readonly bucket: string
}

/** Creates a server whose database is unavailable. */
export function serverWithoutDatabase() {
  const unavailable = async () => {
    throw new StorageError('DATABASE_UNAVAILABLE', {
      message: 'db.internal:5432 refused',
      params: { host: 'db' },
    })
  }
  const store = memoryAdapter()
  return serverOver({ ...store, listByScope: unavailable, find: unavailable })
}

/** Creates a server with these objects that shows shared ones to everyone, and the usage and quota to their owner. */
export function sharingServer(open = openInMemory) {
  return serverOver(open('objects'), {}, true)
}

const update = { fields: ['filename', 'metadata', 'contentType'] } as const

const sharing = {
  mayRead: ({ metadata }: StorageObject) => metadata?.['shared'] === 'yes',
  usageEndpoint: true,
  quota: (scope: string) => (scope === 'user:1' ? { maxBytes: 1000, maxFiles: null } : null),
}

function serverOver(
  client: StorageObjectStore,
  { storage = memoryStorage(), bucket = 'files' }: Partial<UploadTarget> = {},
  shares = false,
) {
  return createS3Server({
    storage,
    bucket,
    plugins: [db({ client, resolveScope: scopeOf, update, ...(shares && sharing) })],
    onError: () => undefined,
  })
}

export function scopeOf({ headers }: Request): string | null {
  const user = headers.get(USER_HEADER)
  if (user === 'broken') throw new Error('the session store at cache.internal is down')
  return user
}
