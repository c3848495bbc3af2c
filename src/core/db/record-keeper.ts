import { failureOf, refusalOf, StorageError } from '../errors.js'
import type { RecordKeeper, ServerEnvironment } from '../plugin.js'
import type { Confirmed } from '../store/driver.js'
import { inFull } from '../store/store-parts.js'
import type { ConfirmInput, KeepInput, UpdateInput } from '../store/contract.js'
import { copyObject, type Quota, type StorageObject } from '../store/records.js'
import type { Report } from '../reporter.js'
import { requireScope, resolveScopeOnce } from '../scope.js'
import { quotaFlaw, QUOTA_NAMES, shown, type QuotaLimits } from '../store/validation/checks.js'
import { nearestName } from '../known-names.js'
import { createReadAccess } from './read-access.js'
import { usedAmong } from './is-used.js'
import type { DbHooks, DbOptions } from './options.js'

const DEFAULT_PENDING_TTL_SECONDS = 86_400

/** The record keeper of `db()`, which has every optional member. */
export type DbRecordKeeper = RecordKeeper &
  Required<Pick<RecordKeeper, 'callerOf' | 'readAccess' | 'visibleMetadata' | 'endTemporary'>> & {
    /** Changes an active object. Returns `null` if the attempt is no longer there. */
    update(input: UpdateInput): Promise<StorageObject | null>
    /** Clears the end of objects. */
    keep(input: KeepInput): Promise<StorageObject[]>
  }

export function createRecordKeeper(
  options: DbOptions,
  report: Report,
  { changed, replaced: onReplaced }: Pick<ServerEnvironment, 'changed' | 'replaced'>,
  now: () => Date,
): DbRecordKeeper {
  const { client: objects, resolveScope } = options
  const hooks = options.hooks ?? {}
  const deleteMode = options.deleteMode ?? 'soft'

  /** The change is committed, so an error of a hook is reported and doesn't affect the caller. */
  async function callHook<Name extends keyof DbHooks>(
    name: Name,
    event: Parameters<NonNullable<DbHooks[Name]>>[0],
    request?: Request,
  ): Promise<void> {
    const hook = hooks[name] as ((event: unknown) => unknown) | undefined
    const given = request && { request }
    try {
      await hook?.({ ...event, ...given, object: copyObject(event.object) })
    } catch (error) {
      report(error, { ...given, operation: name })
    }
  }

  /** Confirms. Around a `confirm` that the application has wrapped, reads tell whether it is a repeat. */
  async function confirm(input: ConfirmInput): Promise<Omit<Confirmed, 'outcome'>> {
    const confirmInFull = inFull(objects, 'confirm')
    if (confirmInFull) return confirmInFull(input)
    const { bucket, key, id } = input
    const [pending, replaced] =
      hooks.onActivated || onReplaced
        ? await Promise.all([objects.findPending({ bucket, key, id }), objects.findActive({ bucket, key })])
        : [null, null]
    return { row: await objects.confirm(input), isRepeat: pending === null, replaced }
  }

  return {
    objects,
    visibleMetadata: options.visibleMetadata ?? [],
    readAccess: createReadAccess(objects, options.mayRead ?? null, now),
    pendingTtlSeconds: options.pendingTtlSeconds ?? DEFAULT_PENDING_TTL_SECONDS,
    deleteMode,

    callerOf: (request) => resolveScopeOnce(resolveScope, request),
    resolveScope: (request) => requireScope(resolveScope, request),
    async quotaOf(scope, request) {
      const quota = options.quota ?? null
      if (typeof quota !== 'function') return quota
      let result: Quota | null
      try {
        result = await quota(scope, request)
      } catch (cause) {
        throw refusalOf(cause) ?? failureOf('The quota function', cause)
      }
      return limitsOf(result)
    },

    async reserve(input, request) {
      const object = await objects.reserve(input)
      if (hooks.onReserved) await callHook('onReserved', { object }, request)
      return object
    },

    async confirm(input, request) {
      const { row, isRepeat, replaced } = await confirm(input)
      // The hook of a repeated confirm has run already, and that of an arrived attempt runs once it is accepted.
      const isActivated = !isRepeat && row.status === 'active'
      if (isActivated && replaced) await onReplaced?.(copyObject(replaced))
      if (isActivated) await callHook('onActivated', { object: row, replaced }, request)
      changed?.(row)
      return row
    },

    async update(input) {
      const object = await objects.update(input)
      if (object) changed?.(object)
      return object
    },

    async keep(input) {
      const rows = await objects.keep(input)
      for (const object of rows) changed?.(object)
      return rows
    },

    async remove(input, request) {
      const object = await objects.remove(input)
      if (object && object.status !== 'pending') {
        await callHook('onDeleted', { object }, request)
        changed?.(object)
      }
      return object
    },

    async endTemporary(rows, onError) {
      let used: readonly StorageObject[] = []
      try {
        if (options.isUsed) used = await usedAmong(options.isUsed, rows)
      } catch (error) {
        onError(error)
        return []
      }
      const keep = used.map(({ id }) => id)
      const { removed } = await objects.endTemporary({ objects: rows, keep, mode: deleteMode })
      for (const object of removed) await callHook('onDeleted', { object })
      for (const object of [...removed, ...used]) changed?.(object)
      return removed
    },

    async reject(input) {
      const object = await objects.reject(input)
      await callHook('onRejected', { object, reason: input.reason ?? null })
      changed?.(object)
      return object
    },
  }
}

const RESULT = 'quota()'

/** Returns the limits in what a quota function returned, which may be a row of a plans table. @throws StorageError `INTERNAL_ERROR` */
function limitsOf(result: Quota | null): QuotaLimits | null {
  // Only an explicit `null` means "unlimited". `undefined` is probably a forgotten return statement.
  if (result === null) return null
  const flaw = quotaFlaw(RESULT, result) ?? misspeltLimit(result)
  if (flaw !== null) throw new StorageError('INTERNAL_ERROR', { message: `${flaw}.` })
  const { maxBytes, maxFiles } = result
  return { maxBytes: maxBytes ?? null, maxFiles: maxFiles ?? null }
}

/** Finds what would mean "unlimited" by mistake: a name that is nearly that of a limit, or no limit at all. */
function misspeltLimit(result: Quota): string | null {
  const others = Object.entries(result).filter(([name, value]) => !QUOTA_NAMES.has(name) && value != null)
  for (const [name] of others) {
    const meant = nearestName(name, QUOTA_NAMES)
    if (meant !== null) return `${RESULT} must have ${meant} instead of ${shown(name)}`
  }
  const hasLimit = result.maxBytes !== undefined || result.maxFiles !== undefined
  return hasLimit ? null : `${RESULT} must have maxBytes or maxFiles, if only as null`
}
