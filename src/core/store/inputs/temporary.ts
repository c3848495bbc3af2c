import { keyId } from '../../names.js'
import type { StorageObject } from '../records.js'
import { invalid, shown } from '../validation/checks.js'
import {
  attemptId,
  date,
  integer,
  item,
  listOf,
  optional,
  PAGE,
  position,
  readCommand,
  readFields,
  REFERENCE,
  refuseUnknown,
  removeMode,
  text,
  type CommandOf,
  type InputOf,
  type ReadOf,
} from './fields.js'

/** A year. */
export const MAX_TEMPORARY_SECONDS = 31_536_000

/** How long an object lasts that is temporary, in seconds. */
export const temporarySeconds = integer(1, MAX_TEMPORARY_SECONDS)

/** A job removes an object that has ended no sooner than this after its end, because clocks differ. */
export const TEMPORARY_GRACE_SECONDS = 60

/** The most objects that one call keeps or ends. */
export const MAX_OBJECTS = 100

const KEPT = {
  /** The id of the object, or of the attempt that made its present version. */
  id: attemptId,
  /** Only this version of the object. */
  attemptId: optional(attemptId),
}
export interface KeptObjectInput extends InputOf<typeof KEPT> {}
export interface KeptObject extends ReadOf<typeof KEPT> {}

const KEEP = {
  /** The owner, 1 to 255 characters. */
  scope: text('scope'),
  /** 1 to 100 objects, each once. Whole rows may be passed. */
  objects: listOf(item<KeptObjectInput>()(KEPT), MAX_OBJECTS, 1),
}
export interface KeepInput extends InputOf<typeof KEEP> {}
/** `objects` have different ids, although two may still name the same row. */
export interface KeepCommand extends CommandOf<typeof KEEP> {}

export function keepCommand(input: KeepInput, now: Date): KeepCommand {
  const command = readCommand(KEEP, input, now)
  refuseRepeated(command.objects, ({ id }) => id, 'id')
  return command
}

const LIST_TEMPORARY = {
  scope: optional(text('scope')),
  /** Only objects that end by then, inclusive. May lie ahead. Default now. */
  before: optional(date, (now) => now),
  ...PAGE,
  /** The last item of the previous page. */
  after: position<Pick<StorageObject, 'id' | 'temporaryUntil'>>()({ temporaryUntil: date, id: attemptId }),
}
export interface ListTemporaryInput extends InputOf<typeof LIST_TEMPORARY> {}
export interface ListTemporaryQuery extends ReadOf<typeof LIST_TEMPORARY> {}

export function listTemporaryQuery(input: ListTemporaryInput | undefined, now: Date): ListTemporaryQuery {
  refuseUnknown(LIST_TEMPORARY, input ?? {})
  return readFields(LIST_TEMPORARY, input ?? {}, now)
}

const ENDED = { ...REFERENCE, id: attemptId, attemptId, temporaryUntil: date }
export interface EndedObjectInput extends Pick<
  StorageObject,
  'bucket' | 'key' | 'id' | 'attemptId' | 'temporaryUntil'
> {}

const END_TEMPORARY = {
  /** 1 to 100 rows as `listTemporary` returned them, each once. */
  objects: listOf(item<EndedObjectInput>()(ENDED), MAX_OBJECTS, 1),
  /** Those of them that stay: the `id` or `attemptId` of each. Default: none. */
  keep: optional(listOf(attemptId, MAX_OBJECTS), () => []),
  /** `soft` keeps removed rows as history, `hard` deletes them. Default `soft`. */
  mode: removeMode,
}
export interface EndTemporaryInput extends InputOf<typeof END_TEMPORARY> {}

/** One object, with the end and the version that were read. */
export interface EndedObject extends ReadOf<typeof ENDED> {
  /** Whether its end is cleared. Otherwise it is removed. */
  readonly isKept: boolean
}
export interface EndTemporaryCommand extends Omit<CommandOf<typeof END_TEMPORARY>, 'objects' | 'keep'> {
  /** 1 to 100, each of another key. */
  readonly objects: readonly EndedObject[]
  /** Only an end up to and including this time is over for long enough to remove its object. */
  readonly endedBy: Date
}

export function endTemporaryCommand(input: EndTemporaryInput, now: Date): EndTemporaryCommand {
  const { objects, keep, mode } = readCommand(END_TEMPORARY, input, now)
  refuseRepeated(objects, keyId, 'key')
  const named = new Set(objects.flatMap(({ id, attemptId }) => [id, attemptId]))
  // An id that names none is a mistake, and ignoring it would remove the object that was meant.
  const stray = keep.findIndex((id) => !named.has(id))
  if (stray !== -1) {
    throw invalid(`keep[${stray}]`, `must be the id of one of the objects (got ${shown(keep[stray])}).`)
  }
  const endedBy = new Date(now.getTime() - TEMPORARY_GRACE_SECONDS * 1000)
  const withKept = objects.map((object) => ({
    ...object,
    isKept: keep.includes(object.id) || keep.includes(object.attemptId),
  }))
  return { objects: withKept, mode, endedBy, now }
}

function refuseRepeated<Item extends object>(
  objects: readonly Item[],
  nameOf: (object: Item) => string,
  field: string & keyof Item,
): void {
  const indices = new Map<string, number>()
  objects.forEach((object, index) => {
    const earlier = indices.get(nameOf(object))
    if (earlier !== undefined) {
      const got = shown(object[field])
      throw invalid(
        `objects[${index}].${field}`,
        `must differ from objects[${earlier}].${field} (got ${got} twice).`,
      )
    }
    indices.set(nameOf(object), index)
  })
}
