import type { ObjectReference, Quota, StorageObject } from '../../../src/core/store/records.js'
import { valueOf } from '../answer.js'
import { badValuesOf, fieldsOf, spoil } from '../bad-values.js'
import type { Call } from '../calls.js'
import { END_OF_TIME } from '../clock.js'
import type { Script } from './script.js'
import type {
  AttemptChoice,
  ConfirmStep,
  ExpiredStep,
  QuotaChoice,
  ReserveStep,
  SizeChoice,
  Step,
} from './steps.js'
import type { Place } from './vocabulary.js'
import { word } from './vocabulary.js'

type CallStep = Exclude<Step, { call: 'clock' | 'clockToExpiry' }>

/** The call that a step is at this point of the script, with everything that it names filled in. */
export function callOf(step: CallStep, script: Script): Call {
  const { model, vocabulary } = script
  const { scopes, routes, uploadIds } = vocabulary
  switch (step.call) {
    case 'reserve':
      return reserveCall(step, script)
    case 'confirm':
      return confirmCall(step, script)
    case 'setUploadId': {
      const id = attemptOf(step.id, step.at, script) ?? script.freshId('early')
      const uploadId = word(uploadIds, step.uploadId)
      return { method: 'setUploadId', args: [{ ...referenceTo(step.at, script), id, uploadId }] }
    }
    case 'findPending':
    case 'release': {
      const named = {
        ...referenceTo(step.at, script),
        id: attemptOf(step.id, step.at, script),
        uploadId: optionalWord(uploadIds, step.uploadId),
      }
      if (step.call === 'findPending') return { method: 'findPending', args: [named] }
      return { method: 'release', args: [{ ...named, scope: optionalWord(scopes, step.scope) }] }
    }
    case 'remove': {
      const scope = optionalWord(scopes, step.scope)
      return {
        method: 'remove',
        args: [{ ...referenceTo(step.at, script), scope, mode: step.mode ?? undefined }],
      }
    }
    case 'find':
    case 'findActive':
      return { method: step.call, args: [referenceTo(step.at, script)] }
    case 'findPendingMultipart': {
      const fileSize = sizeOf(step.fileSize, step.at, script)
      return { method: 'findPendingMultipart', args: [{ ...referenceTo(step.at, script), fileSize }] }
    }
    case 'listByScope': {
      const cursor = step.cursor === null ? undefined : script.cursors[step.cursor]
      const { status, limit } = step
      const route = optionalWord(routes, step.route)
      const input = {
        scope: word(scopes, step.scope),
        status: status ?? undefined,
        route,
        limit: limit ?? undefined,
      }
      return { method: 'listByScope', args: [{ ...input, cursor }] }
    }
    case 'countByScope':
      return { method: 'countByScope', args: [word(scopes, step.scope), step.status] }
    case 'getScopeUsage':
      return { method: 'getScopeUsage', args: [word(scopes, step.scope)] }
    case 'listExpired':
    case 'purgeExpired':
      return expiredCall(step, script)
    case 'listLeftovers': {
      const leftovers = valueOf(model.listLeftovers({}))
      const after = step.after === null ? undefined : leftovers[step.after]
      return { method: 'listLeftovers', args: [{ limit: step.limit ?? undefined, after }] }
    }
    case 'forgetLeftover': {
      const leftovers = valueOf(model.listLeftovers({}))
      const attemptId =
        leftovers[step.which]?.attemptId ?? script.attempts[step.which]?.id ?? script.freshId('early')
      return { method: 'forgetLeftover', args: [{ attemptId }] }
    }
    case 'purgeDeleted': {
      const oldest = model.history(END_OF_TIME)[0]?.deletedAt ?? script.clock.now()
      const before = new Date(oldest.getTime() + step.before)
      return { method: 'purgeDeleted', args: [{ before, limit: step.limit ?? undefined }] }
    }
    case 'spoiled': {
      const call = callOf(step.step as CallStep, script)
      const fields = fieldsOf(call.method)
      const field = fields[step.field % fields.length]!
      const values = badValuesOf(call.method, field)
      return spoil(call, field, values[step.value % values.length])
    }
  }
}

function reserveCall(step: ReserveStep, script: Script): Call {
  const { vocabulary, clock } = script
  const { filename, contentType, metadata, overwrite } = step
  const reference = referenceTo(step.at, script)
  const { active, pending } = rowsAt(step.at, script)
  const scope = word(vocabulary.scopes, step.scope)
  const input = {
    scope,
    ...reference,
    declaredSize: step.declaredSize,
    expiresAt: step.lasts === 'longest' ? END_OF_TIME : clock.in(step.lasts),
    route: optionalWord(vocabulary.routes, step.route),
    filename: filename ?? undefined,
    contentType: contentType ?? undefined,
    metadata: metadata ?? undefined,
    storageKey: {
      none: undefined,
      own: script.freshStorageKey(reference.key),
      pending: pending?.storageKey ?? undefined,
      active: active?.storageKey ?? undefined,
    }[step.storageKey],
    uploadId: optionalWord(vocabulary.uploadIds, step.uploadId),
    overwrite: overwrite ?? undefined,
    quota: quotaOf(step.quota, scope, script),
    id: {
      none: undefined,
      early: script.freshId('early'),
      late: script.freshId('late'),
      pending: pending?.id,
      active: active?.id,
      activeAttempt: active?.attemptId,
    }[step.id],
  }
  return { method: 'reserve', args: [input] }
}

function confirmCall(step: ConfirmStep, script: Script): Call {
  const { vocabulary } = script
  const { active, pending } = rowsAt(step.at, script)
  const owner = (active ?? pending)?.scope ?? word(vocabulary.scopes, 0)
  const input = {
    ...referenceTo(step.at, script),
    id: attemptOf(step.id, step.at, script),
    scope: optionalWord(vocabulary.scopes, step.scope),
    size: sizeOf(step.size, step.at, script),
    eTag: step.eTag === 'active' ? (active?.eTag ?? undefined) : optionalWord(vocabulary.eTags, step.eTag),
    contentType: step.contentType ?? undefined,
    quota: quotaOf(step.quota, owner, script),
  }
  return { method: 'confirm', args: [input] }
}

function expiredCall(step: ExpiredStep, script: Script): Call {
  const { model, vocabulary, clock } = script
  const input = {
    scope: optionalWord(vocabulary.scopes, step.scope),
    before: step.before === null ? undefined : clock.in(step.before),
    limit: step.limit ?? undefined,
  }
  if (step.call === 'purgeExpired') return { method: 'purgeExpired', args: [input] }
  const lapsed = valueOf(model.listExpired({}))
  return {
    method: 'listExpired',
    args: [{ ...input, after: step.after === null ? undefined : lapsed[step.after] }],
  }
}

function referenceTo({ bucket, key, having }: Place, { model, vocabulary }: Script): ObjectReference {
  const rows = model.rows.filter(({ status }) => status === having)
  const row = rows[key % rows.length]
  if (row) return { bucket: row.bucket, key: row.key }
  return { bucket: word(vocabulary.buckets, bucket), key: word(vocabulary.keys, key) }
}

/** What is live at a place, as the model has it. */
export function rowsAt(place: Place, script: Script) {
  const { model } = script
  const reference = referenceTo(place, script)
  const active: StorageObject | null = valueOf(model.findActive(reference))
  const pending: StorageObject | null = valueOf(model.findPending(reference))
  return { active, pending }
}

function attemptOf(choice: AttemptChoice, place: Place, script: Script): string | undefined {
  if (typeof choice === 'object') {
    const { bucket, key } = referenceTo(place, script)
    const here = script.attempts.filter((attempt) => attempt.bucket === bucket && attempt.key === key)
    return here[choice.made % Math.max(1, here.length)]?.id ?? script.attempts[choice.made]?.id
  }
  const { active, pending } = rowsAt(place, script)
  return { none: undefined, pending: pending?.id, active: active?.id, activeAttempt: active?.attemptId }[
    choice
  ]
}

function sizeOf(choice: SizeChoice, place: Place, script: Script): number {
  if (typeof choice === 'number') return choice
  const { active, pending } = rowsAt(place, script)
  if (typeof choice === 'object') return (pending?.declaredSize ?? 0) + choice.morePending
  return (choice === 'pending' ? pending?.declaredSize : active?.size) ?? 0
}

/** A quota that leaves so much room beyond what the scope holds now, so that many calls just fit or just don't. */
function quotaOf(choice: QuotaChoice, scope: string, { model }: Script): Quota | undefined {
  if (choice === null) return undefined
  const usage = valueOf(model.getScopeUsage(scope))
  const limit = (held: number, room: number | null) =>
    room === null ? undefined : Math.min(Math.max(0, held + room), Number.MAX_SAFE_INTEGER)
  return {
    maxBytes: limit(usage.bytes + usage.reservedBytes, choice.bytes),
    maxFiles: limit(usage.files + usage.reservedFiles, choice.files),
  }
}

function optionalWord(words: readonly string[], number: number | null): string | undefined {
  return number === null ? undefined : word(words, number)
}
