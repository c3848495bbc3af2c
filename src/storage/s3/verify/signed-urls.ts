import type { S3Client } from '@aws-sdk/client-s3'
import { withTimeout } from '../calls.js'

/** The request of a browser to a signed URL. */
export interface UrlRequest {
  readonly method: 'PUT' | 'GET' | 'OPTIONS'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export interface UrlResponse {
  readonly status: number
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export type SendToURL = (request: UrlRequest, signal?: AbortSignal) => Promise<UrlResponse>

/** What the SDK needs of a request. Its class is in a package that applications need not have. */
interface Handler {
  handle(
    request: object,
    options: { readonly abortSignal: AbortSignal },
  ): Promise<{ readonly response: { statusCode: number; headers: Record<string, string>; body: unknown } }>
}

/**
 * Sends the requests of browsers, over the connections of the client, which may need its proxy or its certificates. Unlike the client's
 * own calls, they follow no redirect and are not repeated.
 */
export function urlSender({ config }: S3Client, timeoutSeconds: number): SendToURL {
  // A cast, because the type of the SDK asks for an instance of its request class.
  const handler = config.requestHandler as unknown as Handler
  return ({ method, url, headers = {}, body }, signal) => {
    const { protocol, hostname, port, pathname, search } = new URL(url)
    const request = {
      ...{ method, protocol, hostname, path: pathname + search },
      ...(port !== '' && { port: Number(port) }),
      headers: { ...headers, ...(body && { 'content-length': String(body.byteLength) }) },
      ...(body && { body }),
    }
    return withTimeout(timeoutSeconds, signal, async (abortSignal) => {
      const { response } = await handler.handle(request, { abortSignal })
      const bytes = await config.streamCollector(response.body)
      return { status: response.statusCode, headers: response.headers, body: bytes }
    })
  }
}
