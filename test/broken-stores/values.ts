import type { StorageObject, StorageObjectStore } from '../../src/adapter.js'
import { attemptIdOf } from '../conformance/attempt-ids.js'
import {
  callsOf,
  SCRIPTS,
  invalid,
  overDriver,
  overEveryRow,
  overStore,
  storeInput,
  driverInput,
  driverResult,
  type Mutants,
  type Mutant,
} from './mutant.js'

type Write = 'reserve' | 'confirm' | 'setUploadId' | 'release' | 'remove'
const WRITES: readonly Write[] = ['reserve', 'confirm', 'setUploadId', 'release', 'remove']
const READS = ['find', 'findActive', 'findPending', 'findPendingMultipart'] as const

const YEAR_9000 = new Date('9000-01-01T00:00:00.000Z')

export const valueMutants: Mutants = {
  'trims keys': [
    overKeys((text) => text.trim() || text),
    'strings: are compared byte for byte as keys',
    SCRIPTS.ofAnything,
  ],
  'folds the case of keys': [
    overKeys((text) => text.toLowerCase()),
    'strings: are compared byte for byte as keys',
    SCRIPTS.ofAnything,
  ],
  'normalises keys': [
    overKeys((text) => text.normalize('NFC')),
    'strings: are returned unchanged from every field',
  ],
  'ignores trailing blanks in scopes': [
    storeInput('getScopeUsage', (scope) => (typeof scope === 'string' ? scope.trimEnd() || scope : scope)),
    'strings: are compared byte for byte as scopes',
    SCRIPTS.ofAnything,
  ],
  'joins bucket and key with a slash': [
    overStore((store) => {
      const joined = <T extends { bucket: string; key: string }>(input: T): T => {
        const [bucket, ...key] = `${input.bucket}/${input.key}`.split('/')
        return bucket === '' || key.join('') === '' ? input : { ...input, bucket, key: key.join('/') }
      }
      return withInputs(store, (input) => (hasReference(input) ? joined(input) : input))
    }),
    'reserve: distinguishes buckets and keys that are equal when joined',
    SCRIPTS.ofAnything,
  ],
  'cuts file names to 255 characters': [
    storeInput('reserve', (input) =>
      typeof input?.filename === 'string' && input.filename.length <= 1024
        ? { ...input, filename: input.filename.slice(0, 255) }
        : input,
    ),
    'strings: are measured in characters or bytes, not in UTF-16 units',
  ],
  'loses metadata named __proto__': [
    overRows((row) => {
      const metadata: Record<string, string> = {}
      for (const [name, value] of Object.entries(row.metadata ?? {})) metadata[name] = value
      return { ...row, metadata: row.metadata && metadata }
    }),
    'metadata: is returned unchanged, even with names that have a special meaning elsewhere',
  ],
  'treats a dot in a metadata name as a path': [
    overRows((row) => ({
      ...row,
      metadata:
        row.metadata &&
        Object.fromEntries(Object.entries(row.metadata).map(([name, value]) => [name.split('.')[0]!, value])),
    })),
    'metadata: is returned unchanged, even with names that have a special meaning elsewhere',
  ],
  'writes metadata that looks like a number as a number does': [
    overEveryRow((row) => {
      const written = (value: string) => (/^\d+(\.\d+)?$/.test(value) ? String(Number(value)) : value)
      const entries = Object.entries(row.metadata ?? {}).map(([name, value]) => [name, written(value)])
      return row.metadata
        ? { ...row, metadata: Object.fromEntries(entries) as StorageObject['metadata'] }
        : row
    }),
    'strings: are returned unchanged if they look like numbers, dates or other values',
  ],
  'treats empty metadata as absent': [
    overRows((row) => ({
      ...row,
      metadata: row.metadata && Object.keys(row.metadata).length > 0 ? row.metadata : null,
    })),
    'metadata: is null if absent, and empty if empty',
  ],
  'stores dates in seconds': [
    overRows((row) => ({
      ...row,
      createdAt: seconds(row.createdAt),
      expiresAt: row.expiresAt && seconds(row.expiresAt),
    })),
    'records: keeps dates to the millisecond',
    SCRIPTS.ofAnything,
  ],
  'returns dates as strings': [
    overRows((row) => ({ ...row, createdAt: row.createdAt.toISOString() as unknown as Date })),
    'records: has every field in a pending row, with null for what is absent',
    SCRIPTS.ofAnything,
  ],
  'omits absent fields from rows': [
    overRows(
      (row) =>
        Object.fromEntries(
          Object.entries(row).filter(([, value]) => value !== null),
        ) as unknown as StorageObject,
    ),
    'records: has every field in a pending row, with null for what is absent',
    SCRIPTS.ofAnything,
  ],
  'returns undefined for an absent field': [
    overRows((row) => ({ ...row, route: row.route ?? (undefined as unknown as null) })),
    'records: has every field in a pending row, with null for what is absent',
    SCRIPTS.ofAnything,
  ],
  'returns additional fields in rows': [
    overRows((row) => ({ ...row, _version: 1 })),
    'records: has every field in a pending row, with null for what is absent',
    SCRIPTS.ofAnything,
  ],
  'returns large sizes as strings': [
    overRows((row) => ({
      ...row,
      declaredSize:
        (row.declaredSize ?? 0) >= 2 ** 32
          ? (String(row.declaredSize) as unknown as number)
          : row.declaredSize,
    })),
    'records: keeps sizes exactly, from 0 to the largest safe integer',
    SCRIPTS.ofAnything,
  ],
  'makes ids that do not sort by creation': [
    storeInput('reserve', (input) => ({ ...input, id: input?.id ?? randomId() })),
    'records: makes UUIDv7 ids that sort by creation, even if the clock stands still or goes back',
    SCRIPTS.ofAnything,
  ],
  "doesn't update updatedAt with the upload id": [
    driverInput('setUploadId', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null, scope: null })
      return { ...command, now: pending?.updatedAt ?? command.now }
    }),
    'records: updates updatedAt with every change of the row, and never createdAt',
    SCRIPTS.ofAnything,
  ],
  'returns a size for pending rows': [
    overEveryRow((row) => (row.status === 'pending' ? { ...row, size: 0 } : row)),
    'records: has every field in a pending row, with null for what is absent',
  ],
  'folds the case of buckets': [
    overReferences(({ bucket, key }) => ({ bucket: bucket.toLowerCase(), key })),
    'strings: are compared byte for byte as buckets',
  ],
  'accepts at most 63 entries of metadata': [
    storeInput('reserve', (input) => {
      if (Object.keys(input?.metadata ?? {}).length === 64) throw invalid('metadata')
      return input
    }),
    'metadata: accepts 64 entries and 16 KiB of UTF-8',
  ],
  'overwrites fields of a row with its metadata': [
    driverResult('list', (rows) =>
      rows.map((row) => {
        const fields = Object.entries(row.metadata ?? {}).filter(([name]) => name in row)
        return { ...row, ...Object.fromEntries(fields) }
      }),
    ),
    "metadata: doesn't affect other fields",
  ],
  'makes ids that go back with the clock': [
    overStore((store, { now }) => {
      let made = 0
      return {
        reserve: (input) =>
          store.reserve({ ...input, id: input?.id ?? attemptIdOf(now().getTime(), ++made) }),
      }
    }),
    'records: makes UUIDv7 ids that sort by creation, even if the clock stands still or goes back',
  ],
  'returns a declared size for active rows': [
    overEveryRow((row) => (row.status === 'active' ? { ...row, declaredSize: row.size } : row)),
    'records: has every field in an active row, with null for what belongs to uploads',
  ],
  'stores dates up to the year 9000': [
    overEveryRow((row) =>
      row.expiresAt && row.expiresAt > YEAR_9000 ? { ...row, expiresAt: YEAR_9000 } : row,
    ),
    'records: keeps dates up to the last millisecond of the year 9999',
  ],
}

function seconds(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000)
}

function randomId(): string {
  const id = crypto.randomUUID()
  return `${id.slice(0, 14)}7${id.slice(15)}`
}

/** Returns other rows than it stores. */
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

function overReferences(broken: (reference: Reference) => Reference): Mutant['createStore'] {
  return overStore((store) =>
    withInputs(store, (input) => (hasReference(input) ? { ...input, ...broken(input) } : input)),
  )
}

function overKeys(fold: (key: string) => string): Mutant['createStore'] {
  return overReferences(({ bucket, key }) => ({ bucket, key: fold(key) }))
}

/** Changes the input of every call that names a key. */
function withInputs(
  store: StorageObjectStore,
  broken: (input: unknown) => unknown,
): Partial<StorageObjectStore> {
  const calls = callsOf(store)
  return Object.fromEntries(
    [...WRITES, ...READS].map((name) => [name, (input: unknown) => calls[name]!(broken(input))]),
  )
}
