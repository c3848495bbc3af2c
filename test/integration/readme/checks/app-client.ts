import { createS3Client, dbClient } from '@svc/db/client'
import type { Handler } from '@svc/db'

/** A program that exports its server. */
export interface HandlerProgram {
  readonly s3: { readonly handler: Handler }
}

const APP = 'http://app.test'

/** The header by which most snippets identify the caller. */
export const signedInAs = (scope: string) => ({ 'x-signed-in-as': scope })

/** Creates the client of a caller, whose requests go to the handler. Only those to a bucket use the network. */
export function clientOf({ s3 }: HandlerProgram, scope: string) {
  return createS3Client({
    baseURL: APP,
    headers: signedInAs(scope),
    plugins: [dbClient()],
    fetch(input, init) {
      const request = new Request(input, init)
      return request.url.startsWith(APP) ? s3.handler(request) : fetch(request)
    },
  }).api
}

/** Sends a request of a caller to the handler, with a JSON body. */
export function ask({ s3 }: HandlerProgram, scope: string, method: string, path: string, body?: object) {
  const headers = { ...signedInAs(scope), 'content-type': 'application/json' }
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  return s3.handler(new Request(`${APP}/api/s3${path}`, init))
}
