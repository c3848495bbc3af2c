/**
 * A response as data. Bindings send it as it is, because a `Response` takes several times as long to create and to read as a
 * framework takes to send one.
 */
export interface PlainResponse {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body; `null` for none. */
  readonly text: string | null
}

/** A response of another realm or of a polyfill is not plain either. */
export function isPlain(response: Response | PlainResponse): response is PlainResponse {
  return typeof response.text !== 'function'
}

export function toResponse(response: Response | PlainResponse): Response {
  if (!isPlain(response)) return response
  const { text, status, headers } = response
  return new Response(text, { status, headers })
}
