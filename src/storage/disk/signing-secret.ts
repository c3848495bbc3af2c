import { randomBytes, webcrypto } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Secret } from '../local/contract.js'
import { writeAtomically } from './atomic-file.js'
import type { DiskLayout } from './layout.js'
import { nullIfMissing } from './file-system.js'

const SECRET_BYTES = 32

/** Returns the secret of a directory, which keeps URLs valid across restarts. Concurrent processes create the same one. */
export async function readOrCreateSecret(layout: DiskLayout): Promise<Secret> {
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
