import type { ConfirmCommand, ReserveCommand } from '@svc/db/adapter'
import { readCommand } from '../../../../../src/core/store/inputs/fields.js'
import { RESERVE } from '../../../../../src/core/store/inputs/index.js'
import { idNumber } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'

const UNLIMITED = { maxBytes: null, maxFiles: null }

export function reserveCommand(fields: Partial<ReserveCommand> = {}): ReserveCommand {
  const input = {
    scope: 'user:1',
    bucket: 'photos',
    key: 'a.png',
    declaredSize: 10,
    expiresAt: afterNoon(60_000),
  }
  return { ...readCommand(RESERVE, { ...input, id: idNumber(50) }, NOON), quota: UNLIMITED, ...fields }
}

export function confirmCommand(fields: Partial<ConfirmCommand> = {}): ConfirmCommand {
  return {
    id: null,
    scope: null,
    bucket: 'photos',
    key: 'a.png',
    size: 10,
    eTag: null,
    contentType: null,
    quota: UNLIMITED,
    accept: false,
    now: NOON,
    ...fields,
  }
}
