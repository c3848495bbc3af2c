import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import type { JsonSchema } from '../../core/json.js'
import { BYTES, nullable, withProperties } from '../../core/openapi/schemas.js'
import { maxFileSizeOf } from '../upload-routes/functions.js'
import type { RouteTable } from '../upload-routes/options.js'

const RULES: JsonSchema = withProperties({
  maxFileSize: { ...nullable(BYTES), description: 'The largest file of the caller. `null`: no limit.' },
  contentTypes: {
    ...nullable({ type: 'array', items: { type: 'string' } }),
    description: 'Media types such as `image/png` or `image/*`. `null`: any type.',
  },
  multipart: { type: 'boolean', description: 'Whether files can be uploaded in parts.' },
})

/** `GET /upload/rules` returns which files the routes accept from the caller, for pages that refuse others before they are sent. */
export function uploadRulesEndpoint(routes: RouteTable, multipart: boolean): Endpoint {
  return guardedEndpoint({
    method: 'GET',
    path: '/upload/rules',
    operation: 'upload.rules',
    describe: () => ({
      summary: 'Returns which files the upload routes accept from the caller.',
      answer: {
        status: 200,
        description: 'The rules of each open route.',
        body: withProperties({
          routes: { type: 'object', additionalProperties: RULES, description: 'By the name of the route.' },
        }),
      },
      errors: ['FORBIDDEN'],
    }),
    own: () => null,
    async act(_input, _subject, { scope, request }) {
      const rules = [...routes.values()].map(async (route) => {
        const { name, contentTypes } = route
        const maxFileSize = await maxFileSizeOf(route, scope, request)
        return [name, { maxFileSize, contentTypes, multipart }] as const
      })
      return { status: 200, body: { routes: Object.fromEntries(await Promise.all(rules)) } }
    },
  })
}
