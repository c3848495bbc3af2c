import type { Handler } from '@svc/db'

export interface Echo {
  readonly method: string
  readonly url: string
  readonly basePath: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** A stand-in for a server that returns what its handler gets. */
export const echo = {
  basePath: '/api/s3',
  handler: (async (request, options) =>
    Response.json({
      method: request.method,
      url: request.url,
      basePath: options?.basePath,
      headers: Object.fromEntries(request.headers),
    } satisfies Echo)) as Handler,
}

export async function echoOf(response: Response | { readonly body: string }): Promise<Echo> {
  return (response instanceof Response ? await response.json() : JSON.parse(response.body)) as Echo
}
