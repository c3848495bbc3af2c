import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

/** A program for processes of their own, as one file of JavaScript in a folder of its own. */
export interface BundledWorker {
  readonly file: string
  /** Removes the folder. */
  readonly remove: () => void
}

const OPTIONAL_PARTS_OF_MONGODB = [
  'mongodb-client-encryption',
  '@mongodb-js/zstd',
  '@aws-sdk/credential-providers',
  'gcp-metadata',
  'kerberos',
  'snappy',
  'socks',
  'aws4',
]

export async function bundleWorker(entry: string): Promise<BundledWorker> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-worker-'))
  const file = join(folder, 'worker.cjs')
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // Loaded by some drivers where it is installed.
    external: ['pg-native', ...OPTIONAL_PARTS_OF_MONGODB],
    logLevel: 'error',
  })
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
