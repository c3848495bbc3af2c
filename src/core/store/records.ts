export const OBJECT_STATUSES = ['pending', 'active', 'deleted'] as const

/** The state of an object: `pending` is an upload in progress, `deleted` is history. */
export type ObjectStatus = (typeof OBJECT_STATUSES)[number]

/** Identifies an object in a bucket. It has at most one active and one pending row, both of the same scope. */
export interface ObjectReference {
  /** 1..255 characters (Unicode code points). */
  readonly bucket: string
  /** 1..1024 bytes of UTF-8, the limit of S3. */
  readonly key: string
}

/** An object and its owner. */
export interface OwnedReference extends ObjectReference {
  readonly scope: string
}

/** Your own data about an object. At most 64 entries; names and values together at most 16 KiB of UTF-8. */
export type ObjectMetadata = Readonly<Record<string, string>>

/** Names of metadata to set, and with `null` to remove. The others stay. */
export type MetadataChanges = Readonly<Record<string, string | null>>

/** The record of one object, as the server sees it. Absent values are `null`. Clients get a {@link DbClientObject} instead. */
export interface StorageObject extends ObjectReference {
  /** UUIDv7. Sorts by creation, and never changes while the object exists, replacements included. */
  readonly id: string
  /** The attempt behind the row: its own id while pending, otherwise the attempt that was confirmed last. */
  readonly attemptId: string
  /** The owner, 1..255 characters. */
  readonly scope: string
  readonly status: ObjectStatus
  /** Name of the upload route that created the object, 1..255 characters. */
  readonly route: string | null
  /** Display name, 1..1024 characters. */
  readonly filename: string | null
  /** Media type, 1..255 characters. */
  readonly contentType: string | null
  /** Verified bytes; `null` until active or arrived. */
  readonly size: number | null
  /** Bytes that the upload request declared; `null` once active. */
  readonly declaredSize: number | null
  /** 1..255 characters. */
  readonly eTag: string | null
  readonly metadata: ObjectMetadata | null
  /** The key of the bytes in the bucket, used by this attempt only. `null`: the bytes are under `key`, and your application manages them. */
  readonly storageKey: string | null
  /** Multipart upload id while pending, 1..1024 characters. */
  readonly uploadId: string | null
  /** When the reservation expires or, of an arrived attempt, the time for its check is over; `null` once active. */
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** Set by every change of the row. */
  readonly updatedAt: Date
  readonly confirmedAt: Date | null
  readonly deletedAt: Date | null
  /** When an active object is gone, unless it is kept before. `null`: it stays. Always `null` in pending rows and in history. */
  readonly temporaryUntil: Date | null
  /** When the bytes of a pending attempt arrived that must be checked before it becomes active. Otherwise `null`. */
  readonly arrivedAt: Date | null
}

/** The record as a browser sees it: without internal fields, and without fields that have no value. */
export interface DbClientObject extends Pick<StorageObject, 'id' | 'bucket' | 'key' | 'status'> {
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly filename?: string
  readonly contentType?: string
  /** Bytes. */
  readonly size?: number
  /** Bytes. */
  readonly declaredSize?: number
  readonly route?: string
  /** The names that `db({ visibleMetadata })` shows, if the object has any of them. */
  readonly metadata?: ObjectMetadata
  /** When the object is gone, unless it is kept before. ISO 8601, UTC. */
  readonly temporaryUntil?: string
  /** The bytes have arrived and are being checked. Only while pending. */
  readonly checking?: true
}

/** One page of records. `nextCursor` is set only if there is another page. */
export interface ObjectPage<T = StorageObject> {
  readonly objects: T[]
  readonly nextCursor?: string
}

/** The usage of a scope. `bytes + reservedBytes` is its size if every pending upload finishes. */
export interface ScopeUsage {
  /** Bytes of active objects. */
  readonly bytes: number
  /** Number of active objects. */
  readonly files: number
  /** Bytes by which pending uploads would grow the scope. An overwrite reserves only its growth. */
  readonly reservedBytes: number
  /** Number of keys with a pending row and no active one. */
  readonly reservedFiles: number
}

/** Limits of one scope, as non-negative integers. A limit that is left out or `null` is unlimited. */
export interface Quota {
  readonly maxBytes?: number | null | undefined
  readonly maxFiles?: number | null | undefined
}

/** Bytes or a multipart upload that may still be in the bucket although no live row refers to them. `cleanUp` removes them. */
export interface Leftover extends ObjectReference {
  /** The attempt that created them. */
  readonly attemptId: string
  /** The owner. `null` if a process of version 1.5 recorded the leftover. */
  readonly scope: string | null
  readonly storageKey: string | null
  /** `null` if the attempt was confirmed. */
  readonly uploadId: string | null
  /** When the attempt ended, or when its object was replaced or removed. */
  readonly since: Date
  /** When the last upload URL of the attempt expires. Until then, bytes may still arrive. */
  readonly writableUntil: Date
  /** When the leftover is next worth a look, as `deferLeftover` stored it. `null` until then. */
  readonly dueAt: Date | null
  /**
   * When the last download URL of the bytes is over: the `temporaryUntil` that the object had when it was replaced or removed, or what
   * `deferLeftover` has set. `null`: neither.
   */
  readonly readableUntil: Date | null
}

/** A scope with its usage and its number of rows. */
export interface ScopeSummary {
  readonly scope: string
  readonly usage: ScopeUsage
  readonly counts: Readonly<Record<ObjectStatus, number>>
}

/** What names bytes in a bucket: a live row or a leftover. */
export type StoredItem = {
  /** The name of the bytes in the bucket: the `storageKey` of the row or leftover, or its `key` if it has none. */
  readonly storageKey: string
} & (
  | { readonly object: StorageObject; readonly leftover?: undefined }
  | { readonly object?: undefined; readonly leftover: Leftover }
)

/** A scope whose recorded usage differs from its rows. */
export interface UsageDifference {
  readonly scope: string
  readonly recorded: ScopeUsage
  readonly actual: ScopeUsage
}

/** Returns a deep copy with the fields of a record only, so that callers can change it safely. */
export function copyObject(row: StorageObject): StorageObject {
  return {
    id: row.id,
    attemptId: row.attemptId,
    scope: row.scope,
    bucket: row.bucket,
    key: row.key,
    status: row.status,
    route: row.route,
    filename: row.filename,
    contentType: row.contentType,
    size: row.size,
    declaredSize: row.declaredSize,
    eTag: row.eTag,
    metadata: row.metadata && { ...row.metadata },
    storageKey: row.storageKey,
    uploadId: row.uploadId,
    expiresAt: row.expiresAt && new Date(row.expiresAt),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    confirmedAt: row.confirmedAt && new Date(row.confirmedAt),
    deletedAt: row.deletedAt && new Date(row.deletedAt),
    temporaryUntil: row.temporaryUntil && new Date(row.temporaryUntil),
    arrivedAt: row.arrivedAt && new Date(row.arrivedAt),
  }
}

/** Returns the part of a record that clients may see, with these names of its metadata. */
export function toClientObject(
  object: StorageObject,
  visibleMetadata: readonly string[] = [],
): DbClientObject {
  const { id, bucket, key, status, createdAt, filename, contentType, size, declaredSize, route } = object
  // Assignments take a third of the time that spreads take, and a page has up to a hundred objects.
  const shown: { -readonly [Name in keyof DbClientObject]: DbClientObject[Name] } = {
    id,
    bucket,
    key,
    status,
    createdAt: createdAt.toISOString(),
  }
  if (filename !== null) shown.filename = filename
  if (contentType !== null) shown.contentType = contentType
  if (size !== null) shown.size = size
  if (declaredSize !== null) shown.declaredSize = declaredSize
  if (route !== null) shown.route = route
  if (visibleMetadata.length > 0) {
    const metadata = visiblePart(object.metadata, visibleMetadata)
    if (metadata) shown.metadata = metadata
  }
  if (object.temporaryUntil !== null) shown.temporaryUntil = object.temporaryUntil.toISOString()
  if (object.arrivedAt !== null) shown.checking = true
  return shown
}

function visiblePart(metadata: ObjectMetadata | null, names: readonly string[]): ObjectMetadata | null {
  const visible = names.filter((name) => metadata !== null && Object.hasOwn(metadata, name))
  return visible.length > 0 ? Object.fromEntries(visible.map((name) => [name, metadata![name]!])) : null
}
