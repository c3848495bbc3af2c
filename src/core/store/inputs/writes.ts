import { createAttemptId } from '../attempt-id.js'
import type * as Driver from '../driver-commands.js'
import type {
  ConfirmInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SetUploadIdInput,
} from '../input-types.js'
import { invalid } from '../validation/invalid.js'
import { checkMetadata } from '../validation/metadata.js'
import {
  checkAttemptId,
  checkBoolean,
  checkDate,
  checkOneOf,
  checkSize,
  optional,
} from '../validation/scalars.js'
import { checkText } from '../validation/text.js'
import { optionalId, optionalText, quota, reference } from './fields.js'

export function reserveCommand(input: ReserveInput, now: Date): Driver.ReserveCommand {
  const { bucket, key } = reference(input)
  const expiresAt = checkDate('expiresAt', input.expiresAt)
  if (expiresAt <= now) throw invalid('expiresAt', `must be in the future (got ${expiresAt.toISOString()}).`)
  return {
    scope: checkText('scope', input.scope),
    bucket,
    key,
    declaredSize: checkSize('declaredSize', input.declaredSize),
    expiresAt,
    route: optionalText('route', input.route),
    filename: optionalText('filename', input.filename),
    contentType: optionalText('contentType', input.contentType),
    metadata: optional(input.metadata, checkMetadata),
    storageKey: optionalText('storageKey', input.storageKey),
    uploadId: optionalText('uploadId', input.uploadId),
    overwrite: optional(input.overwrite, (value) => checkBoolean('overwrite', value)) ?? true,
    quota: quota(input.quota),
    id: optionalId('id', input.id) ?? createAttemptId({ now: () => now }),
    now,
  }
}

export function confirmCommand(input: ConfirmInput, now: Date): Driver.ConfirmCommand {
  const { bucket, key } = reference(input)
  return {
    bucket,
    key,
    id: optionalId('id', input.id),
    scope: optionalText('scope', input.scope),
    size: checkSize('size', input.size),
    eTag: optionalText('eTag', input.eTag),
    contentType: optionalText('contentType', input.contentType),
    quota: quota(input.quota),
    now,
  }
}

export function setUploadIdCommand(input: SetUploadIdInput, now: Date): Driver.SetUploadIdCommand {
  const { bucket, key } = reference(input)
  return {
    bucket,
    key,
    id: checkAttemptId('id', input.id),
    uploadId: checkText('uploadId', input.uploadId),
    now,
  }
}

export function releaseCommand(input: ReleaseInput, now: Date): Driver.ReleaseCommand {
  const { bucket, key } = reference(input)
  return {
    bucket,
    key,
    id: optionalId('id', input.id),
    scope: optionalText('scope', input.scope),
    uploadId: optionalText('uploadId', input.uploadId),
    now,
  }
}

export function removeCommand(input: RemoveInput, now: Date): Driver.RemoveCommand {
  const { bucket, key } = reference(input)
  return {
    bucket,
    key,
    scope: optionalText('scope', input.scope),
    attemptId: optionalId('attemptId', input.attemptId),
    mode: optional(input.mode, (mode) => checkOneOf('mode', mode, ['soft', 'hard'])) ?? 'soft',
    now,
  }
}
