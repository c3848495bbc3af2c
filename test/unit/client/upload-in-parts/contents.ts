import type { startUploads } from './faulty-uploads.js'
import { PART } from './files.js'

export const SIZE = 2 * PART + 3

/** Bytes of a file: what each part is filled with, and an edit in place. */
export interface Content {
  readonly fills: readonly number[]
  readonly edit: { readonly at: number; readonly bytes: Uint8Array } | null
}

/** Every file has the same name, size and time. */
export function fileOf({ fills, edit }: Content): File {
  const bytes = new Uint8Array(SIZE)
  for (const [index, fill] of fills.entries()) bytes.fill(fill, index * PART, (index + 1) * PART)
  if (edit) bytes.set(edit.bytes, edit.at)
  return new File([bytes], 'film.mp4', { lastModified: 1 })
}

/** Returns whether a download of the object has the bytes of the file. */
export async function isStored(
  uploads: ReturnType<typeof startUploads>,
  key: string,
  file: File,
): Promise<boolean> {
  const { url } = await uploads.api.download({ key })
  const stored = Buffer.from(await (await uploads.fetch(url)).arrayBuffer())
  return stored.equals(Buffer.from(await file.arrayBuffer()))
}
