import type { StoredBytes } from '../../core/object-storage.js'

export interface StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly description: StoredBytes
}

/** The place of an object. No bucket and no key has a NUL character in it. */
export function place(bucket: string, key: string): string {
  return `${bucket}\0${key}`
}

export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const copies: Uint8Array<ArrayBuffer>[] = []
  // Whoever made a chunk may use its memory again.
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk))
  return new Uint8Array(await new Blob(copies).arrayBuffer())
}

export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
