import { shown } from '../../core/store/validation/invalid.js'
import { checkMediaType, essenceOf } from './media-type.js'
import {
  byStoreRule,
  functionOption,
  integerOption,
  isObject,
  textOption,
  wrongOption,
} from './option-checks.js'
import type { RoutePolicy, RouteTable, UploadRoute } from './upload-routes.js'

/** The routes that an application named. @throws TypeError for a bad one, and for none. */
export function routeTable(routes: Readonly<Record<string, UploadRoute>>, bucket: string): RouteTable {
  if (!isObject(routes))
    throw wrongOption(`routes must be an object of upload routes by name, not ${shown(routes)}.`)
  const table = new Map(
    Object.entries(routes).map(([name, route]) => [name, routePolicy(name, route, bucket)]),
  )
  if (table.size === 0)
    throw wrongOption('routes must have at least one route; left out, there is one named "default".')
  return table
}

function routePolicy(name: string, route: UploadRoute, serverBucket: string): RoutePolicy {
  textOption(`the name of the route ${shown(name)}`, 'route', name)
  const option = `routes[${JSON.stringify(name)}]`
  if (!isObject(route)) throw wrongOption(`${option} must be an object, not ${shown(route)}.`)
  const { maxFileSize, contentTypes, key, bucket, overwrite, guard } = route
  if (overwrite !== undefined && overwrite !== null && typeof overwrite !== 'boolean') {
    throw wrongOption(`${option}.overwrite must be true or false, not ${shown(overwrite)}.`)
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
    guard: functionOption(`${option}.guard`, guard),
  }
}

function contentTypesOption(option: string, types: unknown): readonly string[] | null {
  if (types === undefined || types === null) return null
  if (!Array.isArray(types) || types.length === 0) {
    throw wrongOption(
      `${option} must be an array of at least one media type such as "image/png" or "image/*", not ${shown(types)}.`,
    )
  }
  return types.map((type: unknown) => essenceOf(byStoreRule(option, () => checkMediaType(type))))
}
