import { randomBytes, webcrypto } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Secret } from '../signed-urls/url-signer.js'
import { createWhole } from './create-whole.js'
import type { DiskLayout } from './disk-layout.js'
import { isMissing } from './file-errors.js'

const SECRET_BYTES = 32

/** The secret of a directory, so that URLs outlive the process. Of several processes that create it at once one does. */
export async function readOrCreateSecret(layout: DiskLayout): Promise<Secret> {
  await layout.prepare()
  return importSecret((await readSecret(layout)) ?? (await createSecret(layout)))
}

async function createSecret(layout: DiskLayout): Promise<string> {
  const text = `${randomBytes(SECRET_BYTES).toString('hex')}\n`
  const { secret: path, drafts } = layout
  const created = await createWhole({
    path,
    drafts,
    write: (file) => file.writeFile(text),
  })
  return created ? text : readFile(path, 'utf8')
}

/** `null`: there is none yet. */
async function readSecret({ secret: path }: DiskLayout): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** A shorter secret could be guessed, so that none is taken but a whole one. */
async function importSecret(text: string): Promise<Secret> {
  const hex = /^([0-9a-f]{64})\n$/.exec(text)?.[1]
  if (hex === undefined) {
    throw new Error('The signing secret of a diskStorage is damaged; without its file a new one is made.')
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return webcrypto.subtle.importKey('raw', Buffer.from(hex, 'hex'), algorithm, false, ['sign', 'verify'])
}
