import type { DbClientObject } from '../../core/store/records.js'
import { createDigest } from './digest.js'
import {
  clearText,
  type KeptAttempt,
  type KeptAttempts,
  quietly,
  textAt,
  writeText,
} from './kept-attempts.js'
import { digestOf } from './read.js'
import { throwIfAborted } from './retry.js'
import type { Transfer } from './transfer.js'
import { MULTIPART_MIN_SIZE } from './sizes.js'

/** In milliseconds: a check takes at most 30 days, and the server tells the reason of a rejection for an hour. */
const REMEMBERED = (30 * 24 + 1) * 3_600_000

/** So that a page that uploads thousands of files doesn't fill the browser's storage. */
const MAX_REMEMBERED = 100

/** An upload whose bytes have arrived, and are checked before anyone can read them. */
export interface CheckedUpload {
  readonly object: Pick<DbClientObject, 'bucket' | 'key' | 'id'>
  /** The digest of what makes two uploads the same, which can be long. */
  readonly identity: string
  /** The digest of the digests of its parts, which can be many. */
  readonly bytes: string
  /** The size of every part but the last, in bytes. */
  readonly partSize: number
  /** In milliseconds of this browser's clock. */
  readonly until: number
}

/** Returns the remembered uploads of an account, oldest first. */
export function checkedUploads({ checked }: KeptAttempts): CheckedUpload[] {
  // Whatever is not valid is not remembered.
  const read = () => {
    const found = JSON.parse(textAt(checked)!) as CheckedUpload[]
    return found.filter(({ object, until }) => object.id && until > Date.now())
  }
  return quietly(read) || []
}

/** Forgets an upload, and remembers another instead. */
export function replaceChecked(kept: KeptAttempts, id: string, ...others: CheckedUpload[]): void {
  const uploads = checkedUploads(kept).filter(({ object }) => object.id !== id)
  uploads.push(...others)
  if (uploads.length > 0) writeText(kept.checked, JSON.stringify(uploads.slice(-MAX_REMEMBERED)))
  else clearText(kept.checked)
}

/** Remembers an upload, so that its file isn't sent again, unless the file couldn't be recognized. */
export function rememberChecked(
  kept: KeptAttempts,
  identity: KeptAttempt['identity'],
  { object: { bucket, key, id }, digests, partSize }: KeptAttempt,
): void {
  const parts = digests.slice(1).map(String)
  if (!identity || !partSize || parts.length === 0 || parts.includes('')) return
  const until = Date.now() + REMEMBERED
  replaceChecked(kept, id, {
    ...{ object: { bucket, key, id }, partSize, until },
    ...{ identity: digestOfText(identity), bytes: digestOfText(parts.join()) },
  })
}

/** Remembers an upload by its file. A large file that was sent in one PUT was not read, and may have changed since. */
export async function rememberSent(
  { kept, file, identity, signal }: Transfer,
  attempt: KeptAttempt,
): Promise<void> {
  if (attempt.uploadId) rememberChecked(kept, identity, attempt)
  else if (identity && file.size < MULTIPART_MIN_SIZE) {
    const digest = await digestOf(file, signal).catch(() => undefined)
    const digests = ['', [digest]]
    rememberChecked(kept, identity, { ...attempt, digests, partSize: MULTIPART_MIN_SIZE })
  }
}

/** Returns the remembered uploads of the same file with the same options. Reads the file only if there may be one. */
export async function checkedLike({ kept, file, identity, signal }: Transfer): Promise<CheckedUpload[]> {
  const found: CheckedUpload[] = []
  const wanted = identity && digestOfText(identity)
  for (const upload of checkedUploads(kept)) {
    const { partSize } = upload
    if (upload.identity !== wanted || !(partSize > 0)) continue
    const parts: string[] = []
    for (let at = 0; at === 0 || at < file.size; at += partSize) {
      throwIfAborted(signal)
      parts.push(String(await digestOf(file.slice(at, at + partSize), signal)))
    }
    if (digestOfText(parts.join()) === upload.bytes) found.push(upload)
  }
  return found
}

function digestOfText(text: string): string {
  const digest = createDigest()
  digest.add(Int32Array.from(text, (character) => character.codePointAt(0)!).buffer)
  return digest.text()
}
