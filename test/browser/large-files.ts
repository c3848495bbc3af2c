import { createHash, randomFillSync } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

const CHUNK = 4_000_000

/** Writes a file of random bytes in chunks. Resolves to its SHA-256. */
export async function writeRandomFile(path: string, size: number): Promise<string> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx')
  try {
    for (let left = size; left > 0; left -= CHUNK) {
      const chunk = randomFillSync(Buffer.alloc(Math.min(CHUNK, left)))
      hash.update(chunk)
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

/** Resolves to the SHA-256 of a file. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
