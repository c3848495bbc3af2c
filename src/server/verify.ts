import { isBuiltIn } from '../core/realms.js'
import { StorageError } from '../core/errors.js'
import { namesOf } from '../core/known-names.js'
import type { Finding, FindingPart, ObjectStorage, VerifyInput } from '../core/object-storage.js'
import { OptionChecks } from '../core/option-checks.js'
import { printable } from '../core/printable.js'
import type { StorageObjectStore } from '../core/store/contract.js'
import { shown } from '../core/store/validation/checks.js'
import type { ServerDependencies } from './dependencies.js'

export interface VerifyOptions {
  /** Default: the bucket of the server. Call it once for each bucket that your routes use. */
  readonly bucket?: string | null | undefined
  /** An origin of your pages, such as `https://app.example`. It asks the bucket as a browser would, which needs no permissions. */
  readonly origin?: string | null | undefined
  /** Ends the call once what it has written is removed. It then rejects with the reason. */
  readonly signal?: AbortSignal | null | undefined
}

export type Verify = (options?: VerifyOptions | null) => Promise<readonly Finding[]>

const OPTIONS = namesOf<VerifyOptions>({ bucket: true, origin: true, signal: true })
const checks = new OptionChecks('s3.verify')

/** Creates `s3.verify`. */
export function createVerify(
  { storage, records, bucket }: Pick<ServerDependencies, 'storage' | 'records' | 'bucket'>,
  { browserUploads }: { readonly browserUploads: boolean },
): Verify {
  return async (options) => {
    const given = checks.optionalOptions(options, OPTIONS)
    const signal = checks.signal(given.signal)
    return verifyService(records.objects, storage, {
      bucket: checks.text('bucket', given.bucket ?? bucket, 'bucket'),
      origin: originOption(given.origin),
      browserUploads,
      ...(signal && { signal }),
    })
  }
}

function originOption(origin: string | null | undefined): string | null {
  checks.string('origin', origin)
  if (origin === undefined || origin === null || isOrigin(origin)) return origin ?? null
  throw checks.error(`origin must be like https://app.example, without a path (got ${shown(origin)}).`)
}

/** Returns whether a text has the form of a browser's `Origin` header. Apps in a web view have schemes of their own. */
export function isOrigin(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@A-Z]+$/.test(text)
}

/** Checks a store and a bucket, for callers with or without a server. Rejects only with the reason of the signal. */
export async function verifyService(
  store: Pick<StorageObjectStore, 'verify'>,
  storage: Pick<ObjectStorage, 'verify'>,
  input: VerifyInput,
): Promise<readonly Finding[]> {
  input.signal?.throwIfAborted()
  const ofDatabase = async () =>
    (await store.verify()).map((message): Finding => ({ part: 'database', message }))
  const found = await Promise.all([
    ofDatabase().catch(unreachable('database')),
    Promise.resolve(storage.verify?.(input) ?? []).catch(unreachable('bucket')),
  ])
  input.signal?.throwIfAborted()
  return found.flat()
}

/** Returns a handler of rejections that makes a finding of the error and its cause. */
function unreachable(part: FindingPart): (error: unknown) => readonly Finding[] {
  return (error) => {
    const { message, retryable } = error instanceof StorageError ? error : unexpected(error)
    const cause = causeOf(error)
    const subject = message.replace(/\.$/, '') + (cause === null ? '' : ` (${cause})`)
    const advice = retryable ? `: check that the ${part} runs, and the settings that name it` : ''
    return [{ part, message: printable(`${subject}${advice}.`) }]
  }
}

function unexpected(error: unknown) {
  return { message: isBuiltIn(error, 'Error') ? error.message : String(error), retryable: false }
}

/** Describes the cause of an error. Node's error of a host with several addresses has no message, but one error for each of them. */
function causeOf(error: unknown): string | null {
  const { cause } = Object(error) as { readonly cause?: unknown }
  const { errors } = Object(cause) as { readonly errors?: unknown }
  const first: unknown = Array.isArray(errors) ? errors[0] : cause
  return isBuiltIn(first, 'Error') && first.message !== '' ? first.message : null
}
