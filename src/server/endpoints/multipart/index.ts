import type { Endpoint } from '../../../core/http/endpoint.js'
import type { MultipartDependencies } from '../../server-dependencies.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import type { RouteTable } from '../../options/upload-routes.js'
import { abortMultipartEndpoint } from './abort.js'
import { beginMultipartEndpoint } from './begin.js'
import { completeMultipartEndpoint } from './complete.js'
import { listPartsEndpoint } from './list-parts.js'
import { signPartsEndpoint } from './sign-parts.js'

/** Returns the endpoints of multipart uploads. All but the first take the attempt that the first one started. */
export function multipartEndpoints(
  dependencies: MultipartDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): readonly Endpoint[] {
  return [
    beginMultipartEndpoint(dependencies, policy, routes),
    signPartsEndpoint(dependencies, policy),
    listPartsEndpoint(dependencies),
    completeMultipartEndpoint(dependencies),
    abortMultipartEndpoint(dependencies),
  ]
}
