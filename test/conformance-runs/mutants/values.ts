import type { StorageObject, StorageObjectStore } from '@svc/db'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

type Write = 'reserve' | 'confirm' | 'setUploadId' | 'release' | 'remove'
const WRITES: readonly Write[] = ['reserve', 'confirm', 'setUploadId', 'release', 'remove']
const READS = ['find', 'findActive', 'findPending', 'findPendingMultipart'] as const

export const valueMutants: readonly Mutant[] = [
  {
    it: 'trims keys',
    createStore: overReferences((text) => text.trim() || text),
    caughtBy: ['strings: are compared byte for byte as keys', SCRIPTS.ofAnything],
  },
  {
    it: 'folds the case of keys',
    createStore: overReferences((text) => text.toLowerCase()),
    caughtBy: ['strings: are compared byte for byte as keys', SCRIPTS.ofAnything],
  },
  {
    it: 'normalises keys',
    createStore: overReferences((text) => text.normalize('NFC')),
    caughtBy: ['strings: come back unchanged from every field'],
  },
  {
    it: 'takes scopes that differ in trailing blanks for one',
    createStore: overStore((store) => ({
      getScopeUsage: (scope) =>
        store.getScopeUsage(typeof scope === 'string' ? scope.trimEnd() || scope : scope),
    })),
    caughtBy: ['strings: are compared byte for byte as scopes', SCRIPTS.ofAnything],
  },
  {
    it: 'joins bucket and key with a slash',
    createStore: overStore((store) => {
      const joined = <T extends { bucket: string; key: string }>(input: T): T => {
        const [bucket, ...key] = `${input.bucket}/${input.key}`.split('/')
        return bucket === '' || key.join('') === '' ? input : { ...input, bucket, key: key.join('/') }
      }
      return withInputs(store, (input) => (hasReference(input) ? joined(input) : input))
    }),
    caughtBy: ['reserve: keeps apart what bucket and key together would confuse', SCRIPTS.ofAnything],
  },
  {
    it: 'cuts file names to 255 characters',
    createStore: overStore((store) => ({
      reserve: (input) =>
        store.reserve(
          typeof input?.filename === 'string' && input.filename.length <= 1024
            ? { ...input, filename: input.filename.slice(0, 255) }
            : input,
        ),
    })),
    caughtBy: ['strings: count in characters or bytes, not in UTF-16 units'],
  },
  {
    it: 'loses a metadata entry named __proto__',
    createStore: overRows((row) => {
      const metadata: Record<string, string> = {}
      for (const [name, value] of Object.entries(row.metadata ?? {})) metadata[name] = value
      return { ...row, metadata: row.metadata && metadata }
    }),
    caughtBy: ['metadata: comes back unchanged, whatever its names mean elsewhere'],
  },
  {
    it: 'takes a dot in a metadata name for a path',
    createStore: overRows((row) => ({
      ...row,
      metadata:
        row.metadata &&
        Object.fromEntries(Object.entries(row.metadata).map(([name, value]) => [name.split('.')[0]!, value])),
    })),
    caughtBy: ['metadata: comes back unchanged, whatever its names mean elsewhere'],
  },
  {
    it: 'takes empty metadata for none',
    createStore: overRows((row) => ({
      ...row,
      metadata: row.metadata && Object.keys(row.metadata).length > 0 ? row.metadata : null,
    })),
    caughtBy: ['metadata: is null where there is none, and empty where it is empty'],
  },
  {
    it: 'keeps dates to the second',
    createStore: overRows((row) => ({
      ...row,
      createdAt: seconds(row.createdAt),
      expiresAt: row.expiresAt && seconds(row.expiresAt),
    })),
    caughtBy: ['records: keeps dates to the millisecond', SCRIPTS.ofAnything],
  },
  {
    it: 'answers dates as text',
    createStore: overRows((row) => ({ ...row, createdAt: row.createdAt.toISOString() as unknown as Date })),
    caughtBy: ['records: has every field in a pending row, with null for what is absent', SCRIPTS.ofAnything],
  },
  {
    it: 'leaves out what is absent',
    createStore: overRows(
      (row) =>
        Object.fromEntries(
          Object.entries(row).filter(([, value]) => value !== null),
        ) as unknown as StorageObject,
    ),
    caughtBy: ['records: has every field in a pending row, with null for what is absent', SCRIPTS.ofAnything],
  },
  {
    it: 'answers undefined for what is absent',
    createStore: overRows((row) => ({ ...row, route: row.route ?? (undefined as unknown as null) })),
    caughtBy: ['records: has every field in a pending row, with null for what is absent', SCRIPTS.ofAnything],
  },
  {
    it: 'answers fields of its own with a row',
    createStore: overRows((row) => ({ ...row, _version: 1 })),
    caughtBy: ['records: has every field in a pending row, with null for what is absent', SCRIPTS.ofAnything],
  },
  {
    it: 'answers sizes as text where they are large',
    createStore: overRows((row) => ({
      ...row,
      declaredSize:
        (row.declaredSize ?? 0) >= 2 ** 32
          ? (String(row.declaredSize) as unknown as number)
          : row.declaredSize,
    })),
    caughtBy: ['records: keeps sizes exactly, from 0 to the largest safe integer', SCRIPTS.ofAnything],
  },
  {
    it: 'makes ids that do not sort by creation',
    createStore: overStore((store) => ({
      reserve: (input) => store.reserve({ ...input, id: input?.id ?? randomId() }),
    })),
    caughtBy: [
      'records: makes ids that are UUIDv7s and sort by creation, also while the clock stands still or goes back',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'does not move updatedAt when an upload id is set',
    createStore: overDriver((driver) => ({
      async setUploadId(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        return driver.setUploadId({ ...command, now: pending?.updatedAt ?? command.now })
      },
    })),
    caughtBy: [
      'records: moves updatedAt with every change of the row, and createdAt with none',
      SCRIPTS.ofAnything,
    ],
  },
]

function seconds(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000)
}

function randomId(): string {
  const id = crypto.randomUUID()
  return `${id.slice(0, 14)}7${id.slice(15)}`
}

/** The memory store that answers other rows than it keeps. */
function overRows(broken: (row: StorageObject) => StorageObject): Mutant['createStore'] {
  return overDriver((driver) => {
    const rowOrNull = (row: StorageObject | null) => row && broken(row)
    return {
      find: async (reference) => rowOrNull(await driver.find(reference)),
      findActive: async (reference) => rowOrNull(await driver.findActive(reference)),
      findPending: async (query) => rowOrNull(await driver.findPending(query)),
      async reserve(command) {
        const result = await driver.reserve(command)
        return result.outcome === 'reserved' ? { ...result, row: broken(result.row) } : result
      },
    }
  })
}

type Reference = { readonly bucket: string; readonly key: string }

function hasReference(input: unknown): input is Reference {
  const { bucket, key } = (input ?? {}) as { bucket?: unknown; key?: unknown }
  return typeof bucket === 'string' && typeof key === 'string'
}

function overReferences(fold: (key: string) => string): Mutant['createStore'] {
  return overStore((store) =>
    withInputs(store, (input) => (hasReference(input) ? { ...input, key: fold(input.key) } : input)),
  )
}

/** The store with the input of every call that names a key passed through a function. */
function withInputs(
  store: StorageObjectStore,
  broken: (input: unknown) => unknown,
): Partial<StorageObjectStore> {
  const calls = store as unknown as Record<string, (input: unknown) => Promise<unknown>>
  return Object.fromEntries(
    [...WRITES, ...READS].map((name) => [name, (input: unknown) => calls[name]!(broken(input))]),
  )
}
