import { attemptIdAt } from '../attempt-id.js'
import type * as Driver from '../driver-commands.js'
import type { AdoptInput, TransferInput, UpdateInput } from '../input-types.js'
import { invalid } from '../validation/invalid.js'
import { checkMetadata } from '../validation/metadata.js'
import { checkDate, checkSize, optional } from '../validation/scalars.js'
import { checkText } from '../validation/text.js'
import { optionalId, optionalText, quota, reference } from './fields.js'

export function updateCommand(input: UpdateInput, now: Date): Driver.UpdateCommand {
  const target = reference(input)
  const { scope, attemptId, filename, contentType, metadata } = input
  if (filename === undefined && contentType === undefined && metadata === undefined) {
    throw invalid('input', 'must have at least one of filename, contentType and metadata.')
  }
  return {
    ...target,
    scope: optionalText('scope', scope),
    attemptId: optionalId('attemptId', attemptId),
    changes: {
      ...(filename !== undefined && { filename: optionalText('filename', filename) }),
      ...(contentType !== undefined && { contentType: optionalText('contentType', contentType) }),
      ...(metadata !== undefined && { metadata: optional(metadata, checkMetadata) }),
    },
    now,
  }
}

export function transferCommand(input: TransferInput, now: Date): Driver.TransferCommand {
  const { bucket, key } = reference(input)
  return {
    bucket,
    key,
    from: checkText('scope', input.from, 'from'),
    to: checkText('scope', input.to, 'to'),
    attemptId: optionalId('attemptId', input.attemptId),
    quota: quota(input.quota),
    now,
  }
}

export function adoptCommand(input: AdoptInput, now: Date): Driver.AdoptCommand {
  const { bucket, key } = reference(input)
  const createdAt = checkDate('createdAt', input.createdAt)
  return {
    id: attemptIdAt(createdAt),
    scope: checkText('scope', input.scope),
    bucket,
    key,
    storageKey: checkText('storageKey', input.storageKey),
    size: checkSize('size', input.size),
    createdAt,
    eTag: optionalText('eTag', input.eTag),
    route: optionalText('route', input.route),
    filename: optionalText('filename', input.filename),
    contentType: optionalText('contentType', input.contentType),
    metadata: optional(input.metadata, checkMetadata),
    now,
  }
}
