import { shown } from '../../core/store/validation/checks.js'
import { checkMediaType, essenceOf } from './media-type.js'
import {
  checkOption,
  functionOption,
  integerOption,
  isObject,
  optionError,
  textOption,
} from './option-checks.js'
import type { MetadataFunction, RoutePolicy, RouteTable, UploadRoute } from './upload-routes.js'

/** Validates the `routes` option. @throws TypeError if a route is invalid, or if there is none. */
export function routeTable(routes: Readonly<Record<string, UploadRoute>>, bucket: string): RouteTable {
  if (!isObject(routes)) {
    throw optionError(`routes must be an object of upload routes by name (got ${shown(routes)}).`)
  }
  const table = new Map(
    Object.entries(routes).map(([name, route]) => [name, routePolicy(name, route, bucket)]),
  )
  if (table.size === 0) {
    throw optionError('routes must have at least one route. Omit it to get a single route named "default".')
  }
  return table
}

function routePolicy(name: string, route: UploadRoute, serverBucket: string): RoutePolicy {
  textOption(`the route name ${shown(name)}`, 'route', name)
  const option = /^[A-Za-z_$][\w$]*$/.test(name) ? `routes.${name}` : `routes[${JSON.stringify(name)}]`
  if (!isObject(route)) throw optionError(`${option} must be an object (got ${shown(route)}).`)
  const { maxFileSize, contentTypes, key, metadata, bucket, overwrite, guard } = route
  if (overwrite !== undefined && overwrite !== null && typeof overwrite !== 'boolean') {
    throw optionError(`${option}.overwrite must be true or false (got ${shown(overwrite)}).`)
  }
  return {
    name,
    bucket: textOption(`${option}.bucket`, 'bucket', bucket ?? serverBucket),
    overwrite: overwrite ?? false,
    maxFileSize:
      maxFileSize === undefined || maxFileSize === null
        ? null
        : integerOption(`${option}.maxFileSize`, maxFileSize, 0, Number.MAX_SAFE_INTEGER),
    contentTypes: contentTypesOption(`${option}.contentTypes`, contentTypes),
    key: functionOption(`${option}.key`, key),
    metadata: metadataOption(`${option}.metadata`, metadata),
    guard: functionOption(`${option}.guard`, guard),
  }
}

function metadataOption(option: string, value: UploadRoute['metadata']): false | MetadataFunction | null {
  if (value === undefined || value === null) return null
  if (value !== false && typeof value !== 'function') {
    throw optionError(`${option} must be false or a function (got ${shown(value)}).`)
  }
  return value
}

function contentTypesOption(option: string, types: unknown): readonly string[] | null {
  if (types === undefined || types === null) return null
  if (!Array.isArray(types) || types.length === 0) {
    const given = Array.isArray(types) ? 'an empty array' : shown(types)
    throw optionError(
      `${option} must be an array of media types such as "image/png" or "image/*" (got ${given}).`,
    )
  }
  return types.map((type: unknown, index) =>
    essenceOf(checkOption(`${option}[${index}]`, () => checkMediaType(type))),
  )
}
