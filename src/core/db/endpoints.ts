import { guardedEndpoint, readingEndpoint, type Endpoint } from '../http/endpoint.js'
import { namedObjectQuery, readNamedObject, type NamedObject } from '../http/reference-input.js'
import { OBJECT, STATUS, textSchema, withProperties } from '../openapi/schemas.js'
import { OBJECT_STATUSES, toClientObject, type DbClientObject } from '../store/records.js'
import type { ListByScopeInput } from '../store/contract.js'
import { checkOneOf, invalid, optional, shown } from '../store/validation/checks.js'
import type { DbRecordKeeper } from './record-keeper.js'
import { usageEndpoint } from './usage-endpoint.js'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
const LIMIT = /^(?:[1-9][0-9]?|100)$/

function checkLimit(text: unknown): number {
  if (typeof text !== 'string' || !LIMIT.test(text))
    throw invalid('limit', `must be an integer from 1 to ${MAX_LIMIT} (got ${shown(text)}).`)
  return Number(text)
}

/** Creates the endpoints of the plugin. `bucket` is used if a request names none; `null` makes it required. */
export function dbEndpoints(
  records: DbRecordKeeper,
  bucket: string | null,
  withUsage: boolean,
): readonly Endpoint[] {
  const { objects, readAccess } = records
  const listObjects = guardedEndpoint<ListByScopeInput, null>({
    method: 'GET',
    path: '/db/objects',
    operation: 'db.listObjects',
    describe: () => ({
      summary: "Lists the caller's objects, newest first.",
      query: {
        status: { description: 'Default: active.', schema: STATUS },
        limit: {
          description: `Default: ${DEFAULT_LIMIT}.`,
          schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
        },
        cursor: { description: 'The nextCursor of the previous page.', schema: { type: 'string' } },
        route: {
          description: 'Only objects of this upload route. Matches exactly.',
          schema: textSchema('route'),
        },
      },
      answer: {
        status: 200,
        description: 'One page. The last page has no nextCursor.',
        body: withProperties(
          { objects: { type: 'array', maxItems: MAX_LIMIT, items: OBJECT }, nextCursor: { type: 'string' } },
          ['nextCursor'],
        ),
      },
      errors: ['VALIDATION_ERROR', 'INVALID_CURSOR'],
    }),
    parse: ({ query }, { scope }) => ({
      scope,
      status:
        optional(query.get('status'), (status) => checkOneOf('status', status, OBJECT_STATUSES)) ?? 'active',
      limit: optional(query.get('limit'), checkLimit) ?? DEFAULT_LIMIT,
      cursor: query.get('cursor'),
      route: query.get('route'),
    }),
    own: () => null,
    async act(input) {
      const { objects: rows, ...rest } = await objects.listByScope({ ...input, withMetadata: false })
      return { status: 200, body: { objects: rows.map(toClientObject), ...rest } }
    },
  })

  const getObject = readingEndpoint<NamedObject, DbClientObject>(readAccess.admitsAnonymous, {
    method: 'GET',
    path: '/db/object',
    operation: 'db.getObject',
    describe: () => ({
      summary:
        "Returns the caller's object with an id, or at a key: the active one, else the pending one. " +
        "Returns another owner's active object if the application allows the caller to read it.",
      query: namedObjectQuery(bucket),
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    parse: ({ query }) => readNamedObject(query, bucket),
    async own(named, { request, scope }) {
      return toClientObject(await readAccess.find(named, 'live', { operation: 'object', request, scope }))
    },
    act: async (_named, object) => ({ status: 200, body: { object } }),
  })

  return withUsage ? [listObjects, getObject, usageEndpoint(records)] : [listObjects, getObject]
}
