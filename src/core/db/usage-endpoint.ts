import { guardedEndpoint, type Endpoint } from '../http/endpoint.js'
import { QUOTA, USAGE, withProperties } from '../openapi/schemas.js'
import type { RecordKeeper } from '../plugin.js'
import type { Quota, ScopeUsage } from '../store/records.js'

/** `GET /db/usage` returns the caller's usage and quota. */
export function usageEndpoint(records: RecordKeeper): Endpoint {
  return guardedEndpoint<null, null>({
    method: 'GET',
    path: '/db/usage',
    operation: 'db.getUsage',
    describe: () => ({
      summary: "Returns the caller's usage and quota.",
      answer: {
        status: 200,
        description: 'The usage, and the limits of the quota. A limit that is absent is unlimited.',
        body: withProperties({ usage: USAGE, quota: QUOTA }),
      },
      errors: [],
    }),
    parse: () => null,
    own: () => null,
    async act(_input, _subject, { request, scope }) {
      const [usage, quota] = await Promise.all([
        records.objects.getScopeUsage(scope),
        records.quotaOf(scope, request),
      ])
      return { status: 200, body: { usage: sumsOf(usage), quota: limitsOf(quota) } }
    },
  })
}

/** Picks the fields, because a custom store may return more. */
function sumsOf({ bytes, files, reservedBytes, reservedFiles }: ScopeUsage): ScopeUsage {
  return { bytes, files, reservedBytes, reservedFiles }
}

function limitsOf(quota: Quota | null): { maxBytes?: number; maxFiles?: number } {
  const { maxBytes, maxFiles } = quota ?? {}
  return {
    ...(typeof maxBytes === 'number' && { maxBytes }),
    ...(typeof maxFiles === 'number' && { maxFiles }),
  }
}
