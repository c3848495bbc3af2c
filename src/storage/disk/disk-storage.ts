import { randomBytes, webcrypto } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { namesOf } from '../../core/known-names.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import { OptionChecks } from '../../core/option-checks.js'
import { shown } from '../../core/store/validation/checks.js'
import type { Secret } from '../local/contract.js'
import { createLocalStorage, LOCAL_OPTIONS, type LocalStorageOptions } from '../local/storage.js'
import { writeAtomically } from './atomic-file.js'
import { createClaimFiles } from './claim-file.js'
import { nullIfMissing } from './file-system.js'
import { diskLayout, type DiskLayout } from './layout.js'
import { createDiskByteStore } from './objects.js'
import { createDiskPartStore } from './parts.js'
import { createSweeps } from './sweep.js'

export interface DiskStorageOptions extends LocalStorageOptions {
  /**
   * The directory of all files, including the secret that signs the URLs. Created on first use. A relative path is resolved
   * immediately, against the current working directory. Nothing else should write to this directory.
   */
  readonly directory: string
}

const OPTIONS = namesOf<DiskStorageOptions>({ ...LOCAL_OPTIONS, directory: true })
const checks = new OptionChecks('diskStorage')

/**
 * Creates an object storage in a directory, for development. Every bucket name exists. Its signed URLs point to the server
 * that uses it. The bytes and the URLs survive a restart. Several processes can share a directory: each upload URL still
 * writes only once.
 *
 * An upload URL admits one request at a time, which limits the space of drafts. Another request gets `KEY_CONFLICT` until the
 * first one ends, or sends nothing for 5 seconds. This holds across processes too, with two exceptions: processes that take
 * over from the same stalled request at the same moment can each write a draft, and so can a process whose disk takes longer
 * than 5 seconds. Only one of the drafts becomes the object.
 *
 * Files are readable by their owner only (mode 0600). Uploads and downloads are streamed. An upload is synced to disk before
 * the response is sent, and is never visible in part, even if the process or the machine stops. Drafts of a killed process
 * are removed by an upload a day later. Completing a multipart upload copies its parts, which temporarily takes twice
 * their space. Listing a bucket reads the descriptions of all files in the directory for each page.
 *
 * The file system must support hard links; exFAT, for example, does not. File-system errors (no space, no permission, a
 * missing directory) reject the call, and the server responds with `STORAGE_UNAVAILABLE`. A directory that is deleted while
 * in use is an error, not an empty storage.
 *
 * @throws TypeError if `directory` is not a path, `baseURL` is not an absolute http(s) URL, or another option is invalid.
 *
 * @example
 * import { diskStorage } from '@svc/db/disk'
 *
 * const storage = diskStorage({ directory: 'data/files' })
 */
export function diskStorage(options: DiskStorageOptions): ObjectStorage {
  const layout = diskLayout(resolve(checkDirectory(checks.options(options, OPTIONS))))
  return createLocalStorage(checks, options, (now) => {
    const startSweep = createSweeps(layout, now)
    return {
      objects: createDiskByteStore(layout, startSweep),
      parts: createDiskPartStore(layout, startSweep),
      claimWrite: createClaimFiles(layout),
      secret: () => readOrCreateSecret(layout),
    }
  })
}

function checkDirectory({ directory }: { readonly directory: unknown }): string {
  // Node.js refuses a NUL character too, but only when a path is used.
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) {
    throw checks.error(`directory must be the path of a directory (got ${shown(directory)}).`)
  }
  return directory
}

const SECRET_BYTES = 32

/** Returns the secret of a directory, which keeps URLs valid across restarts. Concurrent processes create the same one. */
async function readOrCreateSecret(layout: DiskLayout): Promise<Secret> {
  await layout.prepare()
  const existing = await nullIfMissing(readFile(layout.secret, 'utf8'))
  return importSecret(existing ?? (await createSecret(layout)))
}

async function createSecret({ secret: path, drafts }: DiskLayout): Promise<string> {
  const text = `${randomBytes(SECRET_BYTES).toString('hex')}\n`
  await writeAtomically({ path, drafts, write: (file) => file.writeFile(text) })
  // Another process may have created it first.
  return readFile(path, 'utf8')
}

/** Requires the full length, because a truncated secret could be guessed. */
async function importSecret(text: string): Promise<Secret> {
  const hex = /^([0-9a-f]{64})\n$/.exec(text)?.[1]
  if (hex === undefined) {
    throw new Error(
      'diskStorage: the file "signing-secret" is damaged. Delete it to create a new secret, which invalidates all signed URLs.',
    )
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return webcrypto.subtle.importKey('raw', Buffer.from(hex, 'hex'), algorithm, false, ['sign', 'verify'])
}
