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
    external: ['pg-native'],
    logLevel: 'error',
  })
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
