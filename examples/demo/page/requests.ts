/** Who this window shows. `null` until the server has said who is signed in. */
let shownUser: string | null = null

export function showUser(id: string): void {
  shownUser = id
}

export const currentUser = (): string | null => shownUser

/** Says whom a request is for. If another window has switched users meanwhile, the server refuses the request. */
export function headersFor(user: string | null): Record<string, string> {
  return user === null ? {} : { 'x-demo-user': user }
}

/** A refusal by one of the demo's own endpoints. */
export class RequestError extends Error {
  constructor(
    /** HTTP status, or `null` without a response. */
    readonly status: number | null,
    request: string,
    options?: ErrorOptions,
  ) {
    super(`${request} failed (${status ?? 'no response'})`, options)
  }
}

/** Calls one of the demo's own endpoints. @throws RequestError unless it succeeds. */
export async function ownRequest(
  method: 'GET' | 'PUT' | 'POST',
  path: string,
  { body, signal = null }: { readonly body?: object; readonly signal?: AbortSignal | null } = {},
): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { ...headersFor(shownUser), ...(body && { 'content-type': 'application/json' }) },
      signal,
      ...(body && { body: JSON.stringify(body) }),
    })
  } catch (cause) {
    throw new RequestError(null, `${method} ${path}`, { cause })
  }
  if (!response.ok) throw new RequestError(response.status, `${method} ${path}`)
  return response.status === 204 ? null : ((await response.json()) as unknown)
}
