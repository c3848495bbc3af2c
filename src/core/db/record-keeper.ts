import { StorageError } from '../errors.js'
import type { RecordKeeper } from '../plugin.js'
import type { Quota, StorageObject } from '../store/records.js'
import type { Report } from '../reporter.js'
import { requireScope } from '../scope.js'
import type { ConfirmInput, StorageObjectStore } from '../store/contract.js'
import { quotaFlaw } from '../store/validation/quota.js'
import type { DbHooks, DbOptions, QuotaSource } from './options.js'

const A_DAY = 86_400

/** The store with the application's rules around it: who calls, how much they may store, and what to tell the hooks. */
export function createRecordKeeper(options: DbOptions, report: Report): RecordKeeper {
  const { client: objects, resolveScope } = options
  const hooks = options.hooks ?? {}

  /** The database has the change already, so whatever a hook throws is the application's to know and nobody else's. */
  async function tell<Name extends keyof DbHooks>(
    name: Name,
    event: Parameters<NonNullable<DbHooks[Name]>>[0],
  ): Promise<void> {
    const hook = hooks[name] as ((event: unknown) => unknown) | undefined
    try {
      await hook?.(event)
    } catch (error) {
      report(error, { ...(event.request && { request: event.request }), operation: name })
    }
  }

  return {
    objects,
    pendingTtlSeconds: options.pendingTtlSeconds ?? A_DAY,
    deleteMode: options.deleteMode ?? 'soft',

    resolveScope(request) {
      return requireScope(resolveScope, request)
    },

    quotaOf(scope, request) {
      return askQuota(options.quota ?? null, scope, request)
    },

    async reserve(input, request) {
      const object = await objects.reserve(input)
      await tell('onReserved', { object, request })
      return object
    },

    async confirm(input, request) {
      const before = hooks.onActivated ? await rowsBefore(objects, input) : null
      const object = await objects.confirm(input)
      // Without a pending row beforehand the object was active already: a repeat, which is no news.
      if (before?.pending) {
        await tell('onActivated', { object, replaced: before.active, ...(request && { request }) })
      }
      return object
    },

    async remove(input, request) {
      const object = await objects.remove(input)
      if (object && object.status !== 'pending') await tell('onDeleted', { object, request })
      return object
    },
  }
}

async function rowsBefore(
  objects: StorageObjectStore,
  { bucket, key, id }: ConfirmInput,
): Promise<{ pending: StorageObject | null; active: StorageObject | null }> {
  const [pending, active] = await Promise.all([
    objects.findPending({ bucket, key, id }),
    objects.findActive({ bucket, key }),
  ])
  return { pending, active }
}

async function askQuota(quota: QuotaSource | null, scope: string, request: Request): Promise<Quota | null> {
  if (typeof quota !== 'function') return quota
  let answer: unknown
  try {
    answer = await quota(scope, request)
  } catch (cause) {
    if (cause instanceof StorageError) throw cause
    throw new StorageError('INTERNAL_ERROR', { message: 'The quota function threw an error.', cause })
  }
  // "No quota" must be said: a function that forgets to answer doesn't mean it.
  if (answer === null) return null
  const flaw = quotaFlaw(answer)
  if (flaw) throw new StorageError('INTERNAL_ERROR', { message: `The answer of the quota function ${flaw}.` })
  return answer as Quota
}
