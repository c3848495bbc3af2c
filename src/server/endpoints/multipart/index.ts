import type { Endpoint } from '../../../core/http/endpoint.js'
import type { MultipartServerParts } from '../../server-parts.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import type { RouteTable } from '../../options/upload-routes.js'
import { abortMultipartEndpoint } from './abort.js'
import { beginMultipartEndpoint } from './begin.js'
import { completeMultipartEndpoint } from './complete.js'
import { listPartsEndpoint } from './list-parts.js'
import { signPartsEndpoint } from './sign-parts.js'

/** The verbs of uploads in parts. All but the first serve only attempts that the first began. */
export function multipartEndpoints(
  parts: MultipartServerParts,
  policy: OperationPolicy,
  routes: RouteTable,
): readonly Endpoint[] {
  return [
    beginMultipartEndpoint(parts, policy, routes),
    signPartsEndpoint(parts, policy),
    listPartsEndpoint(parts),
    completeMultipartEndpoint(parts),
    abortMultipartEndpoint(parts),
  ]
}
