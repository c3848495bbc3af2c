import type { AcceptChange, RecordChange } from '../../core/plugin.js'
import { mergeMetadata, refuseExcess } from '../../core/store/lifecycle/metadata.js'
import { copyObject, type MetadataChanges, type ObjectMetadata } from '../../core/store/records.js'
import { refusalError } from '../../core/store/refusals.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { checkContentType } from './acceptance.js'
import { buildMetadata } from './functions.js'
import type { RoutePolicy, RouteTable } from './options.js'

/** Holds changes of an object to the word of its upload route. An object without a known route follows none. */
export function changesByRoute(routes: RouteTable): AcceptChange {
  return async (object, change, context) => {
    const route = object.route === null ? undefined : routes.get(object.route)
    if (!route) return change
    if (change.contentType !== undefined) checkContentType(route, change.contentType)
    const given = givenMetadata(route, object.metadata, change)
    if (given === undefined) return change
    const { metadata: _whole, setMetadata: _names, ...others } = change
    const stored = await buildMetadata(route, given, { ...context, object: copyObject(object) })
    // Only the names that differ, so that a mark which the server sets meanwhile stays.
    return { ...others, setMetadata: differences(object.metadata ?? {}, stored ?? {}) }
  }
}

/** Returns the metadata that the client wants to be there, if the function of the route decides about it. */
function givenMetadata(
  route: RoutePolicy,
  before: ObjectMetadata | null,
  { metadata, setMetadata }: RecordChange,
): ObjectMetadata | null | undefined {
  if (metadata === undefined && setMetadata === undefined) return undefined
  if (route.metadata === false) {
    const field = metadata === undefined ? 'setMetadata' : 'metadata'
    throw invalid(field, `must not be set, because the upload route ${shown(route.name)} refuses it.`)
  }
  if (route.metadata === null) return undefined
  if (metadata !== undefined) return metadata
  const merged = mergeMetadata(before, setMetadata!)
  const refusal = refuseExcess(merged)
  if (refusal) throw refusalError(refusal)
  return merged
}

function differences(before: ObjectMetadata, after: ObjectMetadata): MetadataChanges {
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  const set = Object.entries(after).filter(
    ([name, value]) => !Object.hasOwn(before, name) || before[name] !== value,
  )
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...set])
}
