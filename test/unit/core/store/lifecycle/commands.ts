import type { ConfirmCommand, ReserveCommand } from '@svc/db/adapter'
import { idNumber } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'

const UNLIMITED = { maxBytes: null, maxFiles: null }

export function reserveCommand(fields: Partial<ReserveCommand> = {}): ReserveCommand {
  return {
    id: idNumber(50),
    scope: 'user:1',
    bucket: 'photos',
    key: 'a.png',
    declaredSize: 10,
    expiresAt: afterNoon(60_000),
    route: null,
    filename: null,
    contentType: null,
    metadata: null,
    storageKey: null,
    uploadId: null,
    overwrite: true,
    quota: UNLIMITED,
    now: NOON,
    ...fields,
  }
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
    now: NOON,
    ...fields,
  }
}
