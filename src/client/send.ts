import { withoutResponse } from './client-error.js'

export type Fetch = typeof globalThis.fetch

export interface HttpResponse {
  readonly status: number
  readonly text: string
}

/** Sends a request. Rejects with {@link S3ClientError} if there is no response. */
export async function send(
  given: Fetch | null | undefined,
  url: string,
  init: RequestInit & { readonly signal: AbortSignal },
): Promise<HttpResponse> {
  // Called without a receiver: the browser's `fetch` throws when called as a method of another object.
  const fetch = given || globalThis.fetch
  try {
    const response = await fetch(url, init)
    return { status: response.status, text: await response.text() }
  } catch (cause) {
    throw withoutResponse(init.signal, cause)
  }
}
