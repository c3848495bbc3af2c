import { StorageError } from '../errors.js'
import type { Guard } from '../guards.js'
import type { Call, OperationSteps } from '../http/endpoint.js'
import { readNamedObject, type HttpField, type NamedObject, type SentValues } from '../http/fields.js'
import { checkMediaType } from '../http/media-type.js'
import { namesOf } from '../known-names.js'
import type { RecordChange, ServerEnvironment } from '../plugin.js'
import type { UpdateInput } from '../store/contract.js'
import { temporarySeconds } from '../store/inputs/temporary.js'
import { isPastEnd } from '../store/lifecycle/change.js'
import {
  attemptId,
  metadata,
  metadataChanges,
  NO_TIME,
  optional,
  refuseBothMetadata,
  text,
} from '../store/inputs/fields.js'
import type { MetadataChanges, ObjectMetadata, StorageObject } from '../store/records.js'
import { invalid } from '../store/validation/checks.js'
import type { UpdateField } from './options.js'
import type { DbRecordKeeper } from './record-keeper.js'

/** Names an object by its key or its id, and what to change. */
export interface DbUpdateInput {
  readonly key?: string | null | undefined
  /** Only with a key. Default: the bucket of the server or of `db()`. */
  readonly bucket?: string | null | undefined
  /** Counts without a key. */
  readonly id?: string | null | undefined
  /** Only this version: another one is `OBJECT_NOT_FOUND`. */
  readonly attemptId?: string | null | undefined
  readonly filename?: string | null | undefined
  /** A media type. */
  readonly contentType?: string | null | undefined
  /** Replaces the metadata as a whole. `null` clears it. */
  readonly metadata?: ObjectMetadata | null | undefined
  /** Sets single names, and removes those with `null`. Not together with `metadata`. */
  readonly setMetadata?: MetadataChanges | null | undefined
  /**
   * Makes the object temporary, or lengthens that: it is gone this many seconds from now, 1 to 31,536,000, unless it is kept before.
   * `null`: it stays.
   */
  readonly temporarySeconds?: number | null | undefined
}

export const UPDATE_INPUT = namesOf<DbUpdateInput>({
  ...{ key: true, bucket: true, id: true, attemptId: true },
  ...{ filename: true, contentType: true, metadata: true, setMetadata: true },
  temporarySeconds: true,
})

const CHANGES = {
  filename: optional(text('filename')),
  contentType: optional({ ...text('contentType'), read: (value: unknown) => checkMediaType(value) }),
  metadata: optional(metadata),
  setMetadata: optional(metadataChanges),
  temporarySeconds: optional(temporarySeconds),
} satisfies { readonly [Name in keyof RecordChange]-?: HttpField }

/** What the server may change. */
export const ALL_CHANGES = Object.keys(CHANGES) as readonly (keyof RecordChange)[]

/** A `null` is a value of these. */
const CLEARED = new Set<keyof RecordChange>(['metadata', 'temporarySeconds'])

const ATTEMPT = optional(attemptId)

/** Returns what clients may change with these fields: never the end of an object. */
export function changesOf(fields: readonly UpdateField[]): readonly (keyof RecordChange)[] {
  return ALL_CHANGES.filter(
    (name) => name !== 'temporarySeconds' && fields.includes(name === 'setMetadata' ? 'metadata' : name),
  )
}

/** Returns the fields of the JSON body. */
export function updateFields(fields: readonly UpdateField[]): Readonly<Record<string, HttpField>> {
  const changes = changesOf(fields).map((name): [string, HttpField] => [name, CHANGES[name]])
  return { attemptId: ATTEMPT, ...Object.fromEntries(changes) }
}

/** A validated update: which object, and what to change. */
export interface UpdateRequest {
  readonly named: NamedObject
  readonly attemptId: string | null
  readonly change: RecordChange
}

/**
 * Reads an update. `named` has the object, and `sent` the change, of which only these are `allowed`.
 * @throws StorageError `VALIDATION_ERROR`, also for a field that is not allowed, or if there is none (`body`).
 */
export function readUpdate(
  named: SentValues,
  sent: SentValues,
  defaultBucket: string | null,
  allowed: readonly (keyof RecordChange)[],
): UpdateRequest {
  const change: Record<string, unknown> = {}
  for (const name of ALL_CHANGES) {
    const value = sent.get(name)
    if (value === undefined || (value === null && !CLEARED.has(name))) continue
    // Unknown to requests over HTTP.
    if (name === 'temporarySeconds' && !allowed.includes(name)) continue
    if (!allowed.includes(name)) throw invalid(name, `can't be changed. Allowed are ${allowed.join(', ')}.`)
    change[name] = CHANGES[name].read(value, name, NO_TIME)
  }
  if (Object.keys(change).length === 0) throw invalid('body', `must have one of ${allowed.join(', ')}.`)
  refuseBothMetadata('metadata' in change, change['setMetadata'])
  return {
    named: readNamedObject(named, defaultBucket),
    attemptId: ATTEMPT.read(sent.get('attemptId'), 'attemptId', NO_TIME),
    change,
  }
}

export type UpdateSteps = OperationSteps<UpdateRequest, StorageObject, string, StorageObject>

/** The steps of an update by an owner, after its input. */
export function updateSteps(
  records: DbRecordKeeper,
  guard: Guard | null,
  acceptChange: ServerEnvironment['acceptChange'],
  now: () => Date,
): UpdateSteps {
  return {
    async own({ named, attemptId }, { scope }) {
      const { objects } = records
      const found = await ('id' in named
        ? objects.findById({ id: named.id, scope })
        : objects.findActive({ bucket: named.bucket, key: named.key, scope }))
      const isNamed = found?.status === 'active' && found.scope === scope && !isPastEnd(found, now())
      if (isNamed && (attemptId === null || found.attemptId === attemptId)) return found
      throw new StorageError('OBJECT_NOT_FOUND')
    },
    guard: (_, object) => {
      const { bucket, key, route, size } = object
      return { guards: [guard], context: { bucket, key, route, size, object } }
    },
    async act({ change }, object, { request, scope }: Call) {
      const { bucket, key, attemptId } = object
      const accepted = (await acceptChange?.(object, change, { request, scope })) ?? change
      // Returns null if another version has taken the place of the one that was checked.
      return records.update({ bucket, key, scope, attemptId, ...accepted } as UpdateInput)
    },
  }
}
