/** Where an object is in its life: an upload that was allowed, an object, or history. */
export type ObjectStatus = 'pending' | 'active' | 'deleted'

export const OBJECT_STATUSES = ['pending', 'active', 'deleted'] as const satisfies readonly ObjectStatus[]

/** Names an object in a bucket. At most one active and one pending row exist for it, both of one scope. */
export interface ObjectReference {
  /** 1..255 characters (Unicode code points). */
  readonly bucket: string
  /** 1..1024 bytes of UTF-8, the limit of S3. */
  readonly key: string
}

/** Strings to strings. At most 64 entries; names and values together at most 16 KiB of UTF-8. */
export type ObjectMetadata = Readonly<Record<string, string>>

/** The record of one object, as the server sees it. What is absent is `null`. Never sent to a client as it is. */
export interface StorageObject extends ObjectReference {
  /** UUIDv7; sorts by creation and stays the same for the life of the object. */
  readonly id: string
  /** The attempt that made the row what it is: its own id while pending, else the attempt that was confirmed last. */
  readonly attemptId: string
  /** The owner, 1..255 characters. */
  readonly scope: string
  readonly status: ObjectStatus
  /** Name of the upload route that produced the object, 1..255 characters. */
  readonly route: string | null
  /** Display name, 1..1024 characters. */
  readonly filename: string | null
  /** Media type, 1..255 characters. */
  readonly contentType: string | null
  /** Verified bytes; `null` until active. */
  readonly size: number | null
  /** Bytes that were announced; `null` once active. */
  readonly declaredSize: number | null
  /** 1..255 characters. */
  readonly eTag: string | null
  readonly metadata: ObjectMetadata | null
  /** Where the bytes lie, if that is a key which only this attempt ever uses; `null`: under `key`, the application's own business. */
  readonly storageKey: string | null
  /** Multipart upload id while pending, 1..1024 characters. */
  readonly uploadId: string | null
  /** When the reservation lapses, while pending. */
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** Moves with every change of the row. */
  readonly updatedAt: Date
  readonly confirmedAt: Date | null
  readonly deletedAt: Date | null
}

/** The record as a browser sees it: nothing internal, and of the optional fields only what is known. */
export interface DbClientObject {
  readonly id: string
  readonly bucket: string
  readonly key: string
  readonly status: ObjectStatus
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly filename?: string
  readonly contentType?: string
  /** Bytes. */
  readonly size?: number
  /** Bytes. */
  readonly declaredSize?: number
  readonly route?: string
}

/** One page of records; `nextCursor` is there only when another page is. */
export interface ObjectPage<T = StorageObject> {
  readonly objects: T[]
  readonly nextCursor?: string
}

/** What a scope holds. `bytes + reservedBytes` is what it would hold if every pending upload finished. */
export interface ScopeUsage {
  /** Bytes of the active objects. */
  readonly bytes: number
  /** Active objects. */
  readonly files: number
  /** Bytes by which pending uploads would grow the scope; an overwrite reserves only its growth. */
  readonly reservedBytes: number
  /** Keys with a pending row and no active one. */
  readonly reservedFiles: number
}

/** Limits of one scope; what is left out is unlimited. Non-negative integers. */
export interface Quota {
  readonly maxBytes?: number | null | undefined
  readonly maxFiles?: number | null | undefined
}

/** Something that may still lie in the bucket though no row stands for it any more. */
export interface Leftover extends ObjectReference {
  /** The attempt that put it there. */
  readonly attemptId: string
  readonly storageKey: string | null
  /** `null` where the attempt was confirmed. */
  readonly uploadId: string | null
  /** When the attempt ended, or when its object was replaced or removed. */
  readonly since: Date
  /** Until when a URL given out for the attempt can write. */
  readonly writableUntil: Date
}

/** A scope whose counters differ from its rows. */
export interface UsageDifference {
  readonly scope: string
  readonly recorded: ScopeUsage
  readonly actual: ScopeUsage
}

/** The same record in objects of its own, and nothing beside it: what a caller does to a copy it does to that copy alone. */
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
  }
}
type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** The part of a record that may leave the server. */
export function toClientObject(object: StorageObject): DbClientObject {
  const { id, bucket, key, status, createdAt, filename, contentType, size, declaredSize, route } = object
  // Not by spreading: a page has a hundred of them, and this takes a third of the time.
  const shown: Writable<DbClientObject> = { id, bucket, key, status, createdAt: createdAt.toISOString() }
  if (filename !== null) shown.filename = filename
  if (contentType !== null) shown.contentType = contentType
  if (size !== null) shown.size = size
  if (declaredSize !== null) shown.declaredSize = declaredSize
  if (route !== null) shown.route = route
  return shown
}
