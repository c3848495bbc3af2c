import { attemptIdAt, createAttemptId } from '../attempt-id.js'
import { invalid } from '../validation/checks.js'
import {
  attemptId,
  boolean,
  date,
  futureDate,
  metadata,
  metadataChanges,
  optional,
  quota,
  readCommand,
  readFields,
  REFERENCE,
  refuseBothMetadata,
  refuseUnknown,
  removeMode,
  size,
  text,
  type CommandOf,
  type InputOf,
  type ReadOf,
} from './fields.js'
import { temporarySeconds } from './temporary.js'
import { checkSeconds } from './verdicts.js'

export const RESERVE = {
  /**
   * The id of the attempt, from `createAttemptId()`. Pass one to know it before the call, or to make a retry idempotent: a
   * repeated call with the id of the pending row returns that row.
   */
  id: optional(attemptId, (now) => createAttemptId({ now: () => now })),
  scope: text('scope'),
  ...REFERENCE,
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  declaredSize: size,
  /** In the future, and not after the year 9999. */
  expiresAt: futureDate,
  route: optional(text('route')),
  filename: optional(text('filename')),
  contentType: optional(text('contentType')),
  metadata: optional(metadata),
  /** The key of the bytes in the bucket, 1..1024 bytes of UTF-8. Only this attempt may ever use it. */
  storageKey: optional(text('storageKey')),
  uploadId: optional(text('uploadId')),
  /** `false` refuses a key that has an active row. Default `true`. */
  overwrite: optional(boolean, () => true),
  quota,
  /**
   * Makes the object temporary: it is gone this many seconds after its confirm, 1 to 31,536,000, unless it is kept before. Has no effect
   * where the attempt replaces an object that stays.
   */
  temporarySeconds: optional(temporarySeconds),
  /**
   * Makes `confirm` mark the attempt as arrived, for a check within this many seconds, 60 to 2,592,000, instead of making it
   * active. Needs a `storageKey`.
   */
  checkSeconds: optional(checkSeconds),
}
export interface ReserveInput extends InputOf<typeof RESERVE> {}
export interface ReserveCommand extends CommandOf<typeof RESERVE> {}

export function reserveCommand(input: ReserveInput, now: Date): ReserveCommand {
  const command = readCommand(RESERVE, input, now)
  // Without one the bytes are at the key of the active object, which would show them before they are checked.
  if (command.checkSeconds !== null && command.storageKey === null) {
    throw invalid('storageKey', 'must be given together with checkSeconds.')
  }
  return command
}

export const CONFIRM = {
  ...REFERENCE,
  /** Only this attempt. */
  id: optional(attemptId),
  scope: optional(text('scope')),
  /** Verified bytes. */
  size,
  eTag: optional(text('eTag')),
  /** Default: the content type of the attempt. */
  contentType: optional(text('contentType')),
  /** Limits the growth beyond the reservation. */
  quota,
  /** Makes an arrived attempt active, after its check. Default `false`. */
  accept: optional(boolean, () => false),
}
export interface ConfirmInput extends InputOf<typeof CONFIRM> {}
export interface ConfirmCommand extends CommandOf<typeof CONFIRM> {}

export const SET_UPLOAD_ID = { ...REFERENCE, id: attemptId, uploadId: text('uploadId') }
export interface SetUploadIdInput extends InputOf<typeof SET_UPLOAD_ID> {}
export interface SetUploadIdCommand extends CommandOf<typeof SET_UPLOAD_ID> {}

export const RELEASE = {
  ...REFERENCE,
  id: optional(attemptId),
  scope: optional(text('scope')),
  uploadId: optional(text('uploadId')),
  /** `true` leaves an attempt whose bytes have arrived. Default `false`. */
  unlessArrived: optional(boolean, () => false),
}
export interface ReleaseInput extends InputOf<typeof RELEASE> {}
export interface ReleaseCommand extends Omit<CommandOf<typeof RELEASE>, 'unlessArrived'> {
  readonly unlessArrived?: boolean
}

export const REMOVE = {
  ...REFERENCE,
  scope: optional(text('scope')),
  /** Only this attempt: removes nothing if another one has taken its place. The id of a pending attempt removes only that row. */
  attemptId: optional(attemptId),
  /** `soft` keeps the row as history, `hard` deletes it. Default `soft`. */
  mode: removeMode,
}
export interface RemoveInput extends InputOf<typeof REMOVE> {}
export interface RemoveCommand extends CommandOf<typeof REMOVE> {}

/** Which object an update changes, and the changes that depend on what it has. */
export const UPDATE = {
  ...REFERENCE,
  scope: optional(text('scope')),
  /** Only this attempt: changes nothing if another one has taken its place. */
  attemptId: optional(attemptId),
  /**
   * Sets single names of the metadata, and removes those with `null`. The others stay, even if another call changes them at the same time.
   * `{}` changes nothing. Not together with `metadata`.
   */
  setMetadata: optional(metadataChanges),
}

/** The fields that an update can set. */
export const CHANGES = {
  /** `null` clears it. */
  filename: optional(text('filename')),
  /** `null` clears it. */
  contentType: optional(text('contentType')),
  /** Replaces the metadata as a whole. `null` clears it. */
  metadata: optional(metadata),
  /** That of the bytes, if something has stored the same bytes anew, such as a copy of the bucket. */
  eTag: optional(text('eTag')),
  /** Makes the object temporary: it is gone this many seconds from now, 1 to 31,536,000. `null`: it stays. */
  temporarySeconds: optional(temporarySeconds),
}
const UPDATE_INPUT = { ...UPDATE, ...CHANGES }
type Changes = { readonly [Name in keyof typeof CHANGES]: InputOf<typeof CHANGES>[Name] }

type SetMetadata = Pick<InputOf<typeof UPDATE>, 'setMetadata'>

/** Requires one field to be named, and allows the others to be left out. */
type AtLeast<Name extends keyof Changes> = Required<Pick<Changes, Name>> & Partial<Changes>

/**
 * Sets at least one of `filename`, `contentType`, `metadata`, `setMetadata`, `eTag` and `temporarySeconds`. A field that is left out or
 * `undefined` keeps its value. One of the six must be named, even if its value may be `undefined`; a call in which all six are is
 * refused.
 */
export type UpdateInput = InputOf<typeof UPDATE> &
  (
    | AtLeast<'filename'>
    | AtLeast<'contentType'>
    | AtLeast<'metadata'>
    | AtLeast<'eTag'>
    | AtLeast<'temporarySeconds'>
    | (Required<SetMetadata> & Partial<Changes>)
  )

/** If `setMetadata` is not `null`, it has at least one name, and `changes` have no `metadata`. */
export interface UpdateCommand extends CommandOf<typeof UPDATE> {
  /** The fields to set. `null` clears a field, and a field that is left out keeps its value. */
  readonly changes: Partial<ReadOf<typeof CHANGES>>
}

export function updateCommand(input: UpdateInput, now: Date): UpdateCommand {
  refuseUnknown(UPDATE_INPUT, input)
  const { setMetadata, ...target } = readFields(UPDATE, input, now)
  const names = (Object.keys(CHANGES) as (keyof typeof CHANGES)[]).filter((name) => input[name] !== undefined)
  if (names.length === 0 && setMetadata === null) {
    throw invalid(
      'input',
      'must have at least one of filename, contentType, metadata, setMetadata, eTag and temporarySeconds.',
    )
  }
  refuseBothMetadata(names.includes('metadata'), setMetadata)
  const changes = names.map((name) => [name, CHANGES[name].read(input[name], name, now)])
  return {
    ...target,
    setMetadata: setMetadata !== null && Object.keys(setMetadata).length > 0 ? setMetadata : null,
    changes: Object.fromEntries(changes) as UpdateCommand['changes'],
    now,
  }
}

export const TRANSFER = {
  ...REFERENCE,
  /** The owner. */
  from: text('scope'),
  /** The new owner. */
  to: text('scope'),
  /** Only this attempt: transfers nothing if another one has taken its place. */
  attemptId: optional(attemptId),
  /** Limits the growth of `to`. Default: unlimited. */
  quota,
}
export interface TransferInput extends InputOf<typeof TRANSFER> {}
export interface TransferCommand extends CommandOf<typeof TRANSFER> {}

export const ADOPT = {
  /** The owner, 1 to 255 characters. */
  scope: text('scope'),
  ...REFERENCE,
  /** The key of the bytes in the bucket, 1..1024 bytes of UTF-8. From now on the library may delete them. */
  storageKey: text('storageKey'),
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  size,
  /** Since when the bytes exist. Lists sort the object by it. */
  createdAt: date,
  eTag: optional(text('eTag')),
  /** 1 to 255 characters. Default `null`. */
  route: optional(text('route')),
  /** 1 to 1024 characters. Default `null`. */
  filename: optional(text('filename')),
  /** 1 to 255 characters. Default `null`. */
  contentType: optional(text('contentType')),
  metadata: optional(metadata),
}
export interface AdoptInput extends InputOf<typeof ADOPT> {}
export interface AdoptCommand extends CommandOf<typeof ADOPT> {
  /** The id of the new row. It carries `createdAt`. */
  readonly id: string
}

export function adoptCommand(input: AdoptInput, now: Date): AdoptCommand {
  const command = readCommand(ADOPT, input, now)
  return { id: attemptIdAt(command.createdAt), ...command }
}
