import type * as Driver from '../driver-commands.js'
import type {
  DeferLeftoverInput,
  ForgetLeftoverInput,
  ListExpiredInput,
  ListLeftoversInput,
  PurgeDeletedInput,
  PurgeExpiredInput,
} from '../input-types.js'
import { invalid } from '../validation/invalid.js'
import { checkAttemptId, checkDate, checkObject, optional } from '../validation/scalars.js'
import { optionalText, pageLimit } from './fields.js'

export function listExpiredQuery(input: ListExpiredInput | undefined, now: Date): Driver.ListExpiredQuery {
  const { after, scope, before, limit } = checkObject('input', input ?? {})
  return {
    ...expiredRows(scope, before, limit, now),
    after: optional(after, (item) => {
      const { expiresAt, id } = checkObject('after', item)
      return { expiresAt: checkDate('after', expiresAt), id: checkAttemptId('after', id) }
    }),
  }
}

export function purgeExpiredCommand(
  input: PurgeExpiredInput | undefined,
  now: Date,
): Driver.PurgeExpiredCommand {
  const { scope, before, limit, ...unknown } = checkObject('input', input ?? {})
  refuseFields(unknown, 'scope, before and limit')
  return { ...expiredRows(scope, before, limit, now), now }
}

function expiredRows(scope: unknown, before: unknown, limit: unknown, now: Date) {
  const latest = optional(before, (date) => checkDate('before', date)) ?? now
  return {
    scope: optionalText('scope', scope),
    before: latest > now ? now : latest,
    limit: pageLimit(limit),
  }
}

/** Refuses unknown fields of a deletion: ignoring a misspelled filter would delete too much. */
function refuseFields(unknown: object, known: string): void {
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw invalid(name, `is not a field of this call, which takes ${known}.`)
}

export function listLeftoversQuery(input: ListLeftoversInput | undefined): Driver.ListLeftoversQuery {
  const { scope, limit, after } = checkObject('input', input ?? {})
  return {
    scope: optionalText('scope', scope),
    limit: pageLimit(limit),
    after: optional(after, (item) => {
      const { since, attemptId } = checkObject('after', item)
      return { since: checkDate('after', since), attemptId: checkAttemptId('after', attemptId) }
    }),
  }
}

/** Returns `null` if the input names no `dueBefore`: then it is an input for {@link listLeftoversQuery}. */
export function listDueLeftoversQuery(
  input: ListLeftoversInput | undefined,
): Driver.ListDueLeftoversQuery | null {
  const { scope, dueBefore, limit, after } = checkObject('input', input ?? {})
  const latest = optional(dueBefore, (date) => checkDate('dueBefore', date))
  if (latest === null) return null
  return {
    scope: optionalText('scope', scope),
    dueBefore: latest,
    limit: pageLimit(limit),
    after: optional(after, (item) => {
      const { dueAt, attemptId } = checkObject('after', item)
      return {
        dueAt: optional(dueAt, (date) => checkDate('after', date)),
        attemptId: checkAttemptId('after', attemptId),
      }
    }),
  }
}

export function deferLeftoverCommand(input: DeferLeftoverInput): Driver.DeferLeftoverCommand {
  const { attemptId, until } = checkObject('input', input)
  return { attemptId: checkAttemptId('attemptId', attemptId), until: checkDate('until', until) }
}

export function leftoverId(input: ForgetLeftoverInput): string {
  return checkAttemptId('attemptId', checkObject('input', input).attemptId)
}

export function purgeDeletedCommand(input: PurgeDeletedInput): Driver.PurgeDeletedCommand {
  const { scope, before, limit, ...unknown } = checkObject('input', input)
  refuseFields(unknown, 'before, scope and limit')
  return {
    scope: optionalText('scope', scope),
    before: checkDate('before', before),
    limit: pageLimit(limit),
  }
}
