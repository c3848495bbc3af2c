import { guardedEndpoint, readingEndpoint, type Endpoint } from '../http/endpoint.js'
import {
  described,
  namedObjectFields,
  readNamedObject,
  type HttpField,
  type HttpFields,
} from '../http/fields.js'
import { OBJECT, USAGE, withProperties } from '../openapi/schemas.js'
import { integer, oneOf, optional, quota, text } from '../store/inputs/fields.js'
import {
  OBJECT_STATUSES,
  toClientObject,
  type DbClientObject,
  type ObjectStatus,
  type StorageObject,
} from '../store/records.js'
import { invalid, shown } from '../store/validation/checks.js'
import type { UpdateField } from './options.js'
import type { DbRecordKeeper } from './record-keeper.js'
import { changesOf, readUpdate, updateFields, type UpdateRequest, type UpdateSteps } from './update.js'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
const LIMIT = /^(?:[1-9][0-9]?|100)$/

const limit: HttpField<number> = {
  isRequired: false,
  schema: integer(1, MAX_LIMIT).schema,
  read(digits, name) {
    if (digits === null) return DEFAULT_LIMIT
    if (typeof digits === 'string' && LIMIT.test(digits)) return Number(digits)
    throw invalid(name, `must be an integer from 1 to ${MAX_LIMIT} (got ${shown(digits)}).`)
  },
}

const status = optional(oneOf(OBJECT_STATUSES), (): ObjectStatus => 'active')

/** The store decodes it. */
const cursor: HttpField<string | null> = {
  isRequired: false,
  schema: { type: 'string' },
  read: (value) => value as string | null,
}

export interface DbEndpointOptions {
  /** Used if a request names none; `null` makes it required. */
  readonly bucket: string | null
  readonly withUsage: boolean
  /** What owners may change, and how. `null`: nothing. */
  readonly update: { readonly fields: readonly UpdateField[]; readonly steps: UpdateSteps } | null
}

export function dbEndpoints(
  records: DbRecordKeeper,
  { bucket, withUsage, update }: DbEndpointOptions,
): readonly Endpoint[] {
  const { objects, readAccess, visibleMetadata } = records
  const toClient = (object: StorageObject) => toClientObject(object, visibleMetadata)
  const listObjects = guardedEndpoint({
    method: 'GET',
    path: '/db/objects',
    operation: 'db.listObjects',
    query: {
      status: described(status, 'Default: active.'),
      limit: described(limit, `Default: ${DEFAULT_LIMIT}.`),
      cursor: described(cursor, 'The nextCursor of the previous page.'),
      route: described(optional(text('route')), 'Only objects of this upload route. Matches exactly.'),
    },
    describe: () => ({
      summary: "Lists the caller's objects, newest first.",
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
    own: () => null,
    async act(selection, _, { scope }) {
      const { objects: rows, ...rest } = await objects.listByScope({
        ...selection,
        scope,
        withMetadata: visibleMetadata.length > 0,
      })
      return { status: 200, body: { objects: rows.map(toClient), ...rest } }
    },
  })

  const getObject = readingEndpoint(readAccess.admitsAnonymous, {
    method: 'GET',
    path: '/db/object',
    operation: 'db.getObject',
    query: namedObjectFields(bucket),
    describe: () => ({
      summary:
        "Returns the caller's object with an id, or at a key: the active one, else the pending one. " +
        "Returns another owner's active object if the application allows the caller to read it.",
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    parse: (sent) => readNamedObject(sent, bucket),
    async own(named, { request, scope }): Promise<DbClientObject> {
      return toClient(await readAccess.find(named, 'live', { operation: 'object', request, scope }))
    },
    act: async (_named, object) => ({ status: 200, body: { object } }),
  })

  const getUsage = guardedEndpoint({
    method: 'GET',
    path: '/db/usage',
    operation: 'db.getUsage',
    describe: () => ({
      summary: "Returns the caller's usage and quota.",
      answer: {
        status: 200,
        description: 'The usage, and the limits of the quota. A limit that is absent is unlimited.',
        body: withProperties({ usage: USAGE, quota: quota.schema }),
      },
      errors: [],
    }),
    own: () => null,
    async act(_input, _subject, { request, scope }) {
      const [usage, limits] = await Promise.all([
        objects.getScopeUsage(scope),
        records.quotaOf(scope, request),
      ])
      // Picks the fields, because a custom store may return more.
      const { bytes, files, reservedBytes, reservedFiles } = usage
      const { maxBytes, maxFiles } = limits ?? {}
      return {
        status: 200,
        body: {
          usage: { bytes, files, reservedBytes, reservedFiles },
          quota: { maxBytes: maxBytes ?? undefined, maxFiles: maxFiles ?? undefined },
        },
      }
    },
  })

  return [
    ...[listObjects, getObject],
    ...(update ? [updateObject(update, bucket, toClient)] : []),
    ...(withUsage ? [getUsage] : []),
  ]
}

function updateObject(
  { fields, steps }: NonNullable<DbEndpointOptions['update']>,
  bucket: string | null,
  toClient: (object: StorageObject) => DbClientObject,
): Endpoint {
  return guardedEndpoint<StorageObject, HttpFields, UpdateRequest>({
    method: 'PATCH',
    path: '/db/object',
    operation: 'db.updateObject',
    query: namedObjectFields(bucket),
    body: updateFields(fields),
    describe: () => ({
      summary: "Changes the caller's active object with an id, or at a key.",
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: [
        'VALIDATION_ERROR',
        'FORBIDDEN',
        'OBJECT_NOT_FOUND',
        'CONTENT_TYPE_NOT_ALLOWED',
        'KEY_CONFLICT',
      ],
    }),
    parse: (sent, _call, query) => readUpdate(query, sent, bucket, changesOf(fields)),
    ...steps,
    async act(input, subject, call) {
      const object = await steps.act(input, subject, call)
      return object && { status: 200, body: { object: toClient(object) } }
    },
  })
}
