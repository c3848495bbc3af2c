import fc from 'fast-check'
import type { ObjectReference, ObjectStatus } from '../../src/core/store/records.js'
import type {
  ExtendClaimInput,
  ExtendClaimsOptions,
  SettleEventInput,
  StorageObjectStore,
} from '../../src/core/store/contract.js'
import type { Call, MethodName } from './calls.js'
import type { FieldType } from './field-types.js'
import * as types from './field-types.js'
import type { Choice, Here, KeyChoice } from './properties/choices.js'
import * as keyChoices from './properties/choices.js'
import * as eventChoices from './properties/event-choices.js'
import * as objectChoices from './properties/object-choices.js'
import * as temporaryChoices from './properties/temporary-choices.js'
import * as upkeepChoices from './properties/upkeep-choices.js'
import { metadata, text } from './properties/texts.js'

/** A field of an input: whether it may be absent, its valid and invalid values, and its values in scripts. */
export interface Field<C, Value> extends Choice<C, Value> {
  readonly isRequired: boolean
  /** Whether a field that may be left out refuses `undefined` and `null`. */
  readonly refusesNull?: boolean
  readonly type: FieldType
}

type AnyField<Value> = Omit<Field<unknown, Value>, 'resolve'> & {
  readonly resolve: (choice: never, here: Here) => Value
}

/** The inputs of these calls are arguments, in the order of these fields. */
interface ArgumentsOf {
  readonly countByScope: { readonly scope: string; readonly status?: ObjectStatus | null }
  readonly getScopeUsage: { readonly scope: string }
  readonly settleEvents: { readonly entries: readonly SettleEventInput[] }
  readonly extendClaims: {
    readonly entries: readonly ExtendClaimInput[]
    readonly options?: ExtendClaimsOptions
  }
  readonly countEvents: object
}

type InputOf<Method extends MethodName> = Method extends keyof ArgumentsOf
  ? ArgumentsOf[Method]
  : NonNullable<Parameters<StorageObjectStore[Method]>[0]>

/** `atKey`: the input names a key by the fields `bucket` and `key`, chosen together. */
type InputTable = {
  readonly [Method in MethodName]: InputOf<Method> extends ObjectReference
    ? FieldsOf<Omit<InputOf<Method>, keyof ObjectReference>> & { readonly atKey: fc.Arbitrary<KeyChoice> }
    : FieldsOf<InputOf<Method>>
}

type FieldsOf<Input> = { readonly [Name in Exclude<keyof Input, never>]-?: AnyField<Input[Name]> }

function required<C, Value>(type: FieldType, choice: Choice<C, Value>): Field<C, Value> {
  return { ...choice, isRequired: true, type }
}

function optional<C, Value>(type: FieldType, choice: Choice<C, Value>): Field<C, Value> {
  return { ...choice, isRequired: false, type: types.orNull(type) }
}

/** A filter that may be left out. One from a variable that was never set is refused, instead of matching everything. */
function ifGiven<C, Value>(type: FieldType, choice: Choice<C, Value>): Field<C, Value> {
  return { ...choice, isRequired: false, refusesNull: true, type }
}

const choices = { ...keyChoices, ...objectChoices, ...eventChoices, ...upkeepChoices, ...temporaryChoices }
const { keyChoice, literal, often, rarely } = choices

/**
 * The fields of every input. The validation cases, the model's checks and the generated scripts all follow from this
 * table, and the compiler demands an entry for each field of the contract.
 */
export const INPUTS = {
  listByScope: {
    scope: required(types.name, choices.scope),
    status: optional(types.objectStatus, choices.status),
    route: optional(types.name, rarely(choices.route)),
    limit: optional(types.pageLimit, choices.limit),
    cursor: optional(types.cursor, choices.cursor),
    withMetadata: optional(types.boolean, literal(fc.constantFrom(null, null, true, false))),
    fromPrimary: optional(types.boolean, literal(fc.constantFrom(null, null, true, false))),
  },
  countByScope: {
    scope: required(types.name, choices.scope),
    status: optional(types.objectStatus, choices.status),
  },
  getScopeUsage: { scope: required(types.name, choices.scope) },
  find: {
    atKey: keyChoice(null, 'pending', 'active'),
    scope: optional(types.name, rarely(choices.scope)),
  },
  findActive: {
    atKey: keyChoice(null, 'pending', 'active'),
    scope: optional(types.name, rarely(choices.scope)),
  },
  findPending: {
    atKey: keyChoice(null, 'pending'),
    scope: optional(types.name, rarely(choices.scope)),
    id: optional(types.attemptId, choices.attempt),
    uploadId: optional(types.longName, often(choices.uploadId)),
  },
  findPendingMultipart: {
    atKey: keyChoice(null, 'pending'),
    fileSize: required(types.size, choices.sizeAtKey),
  },
  reserve: {
    scope: required(types.name, choices.scope),
    atKey: keyChoice(null, null, 'active', 'pending'),
    declaredSize: required(types.size, choices.declaredSize),
    expiresAt: required(types.futureDate, choices.expiresAt),
    id: optional(types.attemptId, choices.newId),
    storageKey: optional(types.objectKey, choices.storageKey),
    uploadId: optional(types.longName, rarely(choices.uploadId)),
    overwrite: optional(types.boolean, literal(fc.constantFrom(null, null, true, false))),
    quota: optional(types.quota, choices.quota),
    route: optional(types.name, often(choices.route)),
    filename: optional(types.longName, rarely(literal(text))),
    contentType: optional(types.name, rarely(literal(text))),
    metadata: optional(types.metadata, rarely(literal(metadata))),
    temporarySeconds: optional(types.temporarySeconds, choices.temporarySeconds),
    checkSeconds: optional(types.checkSeconds, choices.checkSeconds),
  },
  confirm: {
    atKey: keyChoice(null, 'pending', 'pending', 'pending', 'active'),
    id: optional(types.attemptId, choices.attempt),
    scope: optional(types.name, rarely(choices.scope)),
    size: required(types.size, choices.sizeAtKey),
    eTag: optional(types.name, choices.eTag),
    contentType: optional(types.name, rarely(literal(text))),
    quota: optional(types.quota, choices.quota),
    accept: optional(types.boolean, literal(fc.constantFrom(null, null, null, true, false))),
  },
  setUploadId: {
    atKey: keyChoice(null, 'pending', 'pending'),
    id: required(types.attemptId, choices.requiredAttempt),
    uploadId: required(types.longName, choices.uploadId),
  },
  release: {
    atKey: keyChoice(null, 'pending'),
    id: optional(types.attemptId, choices.attempt),
    scope: optional(types.name, rarely(choices.scope)),
    uploadId: optional(types.longName, rarely(choices.uploadId)),
    unlessArrived: optional(types.boolean, literal(fc.constantFrom(null, null, true, false))),
  },
  remove: {
    atKey: keyChoice(null, 'active', 'pending', 'active'),
    scope: optional(types.name, rarely(choices.scope)),
    attemptId: optional(types.attemptId, rarely(choices.attemptToRemove)),
    mode: optional(types.removeMode, literal(fc.constantFrom(null, 'soft' as const, 'hard' as const))),
  },
  listExpired: {
    scope: optional(types.name, often(choices.scope)),
    before: optional(types.date, often(choices.beforeFromNow)),
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.expiredPosition, choices.expiredPosition),
  },
  purgeExpired: {
    scope: optional(types.name, rarely(choices.scope)),
    before: optional(types.date, rarely(choices.beforeFromNow)),
    limit: optional(types.pageLimit, choices.limit),
  },
  listLeftovers: {
    scope: optional(types.name, rarely(choices.scope)),
    dueBefore: optional(types.date, often(choices.dueBefore)),
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.leftoverPosition, choices.leftoverPosition),
  },
  deferLeftover: {
    attemptId: required(types.attemptId, choices.leftoverAttempt),
    until: required(types.date, choices.until),
    dueBefore: optional(types.date, rarely(choices.dueBefore)),
    readableUntil: optional(types.date, rarely(choices.until)),
  },
  forgetLeftover: { attemptId: required(types.attemptId, choices.leftoverAttempt) },
  purgeDeleted: {
    id: optional(types.attemptId, rarely(choices.deletedId)),
    scope: optional(types.name, rarely(choices.scope)),
    // Optional with an id, see `badFields`.
    before: required(types.date, choices.beforeFromOldest),
    limit: optional(types.pageLimit, choices.limit),
  },
  update: {
    atKey: keyChoice(null, 'active', 'active', 'active'),
    scope: optional(types.name, rarely(choices.scope)),
    attemptId: optional(types.attemptId, rarely(choices.attemptToRemove)),
    filename: optional(types.longName, choices.changedText),
    contentType: optional(types.name, choices.changedText),
    metadata: optional(types.metadata, choices.changedMetadata),
    setMetadata: optional(types.metadataChanges, often(choices.changedNames)),
    eTag: optional(types.name, rarely(choices.changedText)),
    temporarySeconds: optional(types.temporarySeconds, choices.changedSeconds),
  },
  transfer: {
    atKey: keyChoice(null, 'active', 'active', 'active'),
    from: required(types.name, choices.scope),
    to: required(types.name, choices.anyScope),
    attemptId: optional(types.attemptId, rarely(choices.attemptToRemove)),
    quota: optional(types.quota, choices.quota),
  },
  adopt: {
    scope: required(types.name, choices.scope),
    atKey: keyChoice(null, null, 'active', 'pending'),
    storageKey: required(types.objectKey, choices.adoptedKey),
    size: required(types.size, choices.declaredSize),
    createdAt: required(types.date, choices.createdAt),
    eTag: optional(types.name, choices.eTag),
    route: optional(types.name, often(choices.route)),
    filename: optional(types.longName, rarely(literal(text))),
    contentType: optional(types.name, rarely(literal(text))),
    metadata: optional(types.metadata, rarely(literal(metadata))),
  },
  keep: {
    scope: required(types.name, choices.scope),
    objects: required(types.keptObjects, choices.keptObjects),
  },
  listTemporary: {
    scope: optional(types.name, often(choices.scope)),
    before: optional(types.date, often(choices.endsBefore)),
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.temporaryPosition, choices.temporaryPosition),
  },
  endTemporary: {
    objects: required(types.endedObjects, choices.endedObjects),
    keep: optional(types.keptIds, choices.keptIds),
    mode: optional(types.removeMode, literal(fc.constantFrom(null, 'soft' as const, 'hard' as const))),
  },
  listArrived: {
    scope: optional(types.name, often(choices.scope)),
    dueBefore: optional(types.date, often(choices.endsBefore)),
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.expiredPosition, choices.arrivedPosition),
  },
  reject: {
    atKey: keyChoice(null, 'pending', 'pending'),
    id: required(types.attemptId, choices.requiredAttempt),
    scope: optional(types.name, rarely(choices.scope)),
    reason: optional(types.reason, choices.reason),
  },
  findById: {
    id: required(types.attemptId, choices.madeAttempt),
    scope: optional(types.name, rarely(choices.scope)),
  },
  listScopes: {
    prefix: ifGiven(types.name, choices.scope),
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.name, often(choices.scope)),
  },
  listStored: {
    bucket: required(types.name, choices.bucket),
    prefix: optional(types.objectKey, choices.storedPrefix),
    after: optional(types.objectKey, choices.storedName),
    limit: optional(types.pageLimit, choices.limit),
    withMetadata: optional(types.boolean, literal(fc.constantFrom(null, null, true, false))),
  },
  claimEvents: {
    limit: optional(types.pageLimit, choices.limit),
    claimSeconds: optional(types.claimSeconds, choices.claimSeconds),
    bucket: optional(types.name, rarely(choices.bucket)),
    key: optional(types.objectKey, rarely(choices.claimedKey)),
    attempted: optional(types.boolean, literal(fc.constantFrom(null, null, null, true, false))),
    lastScopes: optional(types.names, often(choices.lastScopes)),
  },
  settleEvents: { entries: required(types.settledClaims, choices.settledClaims) },
  extendClaims: {
    entries: required(types.extendedClaims, choices.extendedClaims),
    options: optional(types.extendOptions, choices.extendOptions),
  },
  listEvents: {
    limit: optional(types.pageLimit, choices.limit),
    after: optional(types.cursor, literal(fc.constant(null))),
  },
  countEvents: {},
} satisfies InputTable

export const METHODS = Object.keys(INPUTS) as MethodName[]

const WITH_ARGUMENTS: readonly MethodName[] = [
  ...['countByScope' as const, 'getScopeUsage' as const],
  ...['settleEvents' as const, 'extendClaims' as const, 'countEvents' as const],
]

/** The calls that take their fields as arguments instead of an object. */
export function takesArguments(method: MethodName): boolean {
  return WITH_ARGUMENTS.includes(method)
}

export function callWith(method: MethodName, input: object): Call {
  const values = input as Readonly<Record<string, unknown>>
  const args = takesArguments(method) ? Object.keys(INPUTS[method]).map((name) => values[name]) : [input]
  return { method, args } as unknown as Call
}

/** Returns the call with one field of its input replaced, possibly by a value that no type allows. */
export function withField({ method, args }: Call, field: string, value: unknown): Call {
  if (!takesArguments(method)) return callWith(method, { ...(args[0] as object), [field]: value })
  const names = Object.keys(INPUTS[method])
  const input = Object.fromEntries(names.map((name, index) => [name, args[index]]))
  return callWith(method, { ...input, [field]: value })
}
