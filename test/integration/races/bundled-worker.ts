import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'

/** A program for worker processes, bundled into one JavaScript file in a temporary folder. */
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

/** Loads a package with a binary from where it is installed. */
const NATIVE_PACKAGES: Plugin = {
  name: 'native packages',
  setup(bundle) {
    const { resolve } = createRequire(import.meta.url)
    bundle.onResolve({ filter: /^better-sqlite3$/ }, ({ path }) => ({ path: resolve(path), external: true }))
  },
}

const OPTIONAL_PARTS_OF_KNEX = [
  ...['sqlite3', 'mysql', 'mysql2', 'oracledb', 'tedious'],
  ...['pg-query-stream', 'mariadb', 'mariadb/callback'],
]

/** Bundles a TypeScript file, so worker processes start without a loader. `alias` maps imported names to other files. */
export async function bundleWorker(
  entry: string,
  alias: Record<string, string> = {},
): Promise<BundledWorker> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-worker-'))
  const file = join(folder, 'worker.cjs')
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    alias,
    // Optional modules, which some drivers load if they are installed.
    external: ['pg-native', ...OPTIONAL_PARTS_OF_MONGODB, ...OPTIONAL_PARTS_OF_KNEX],
    plugins: [NATIVE_PACKAGES],
    logLevel: 'error',
  })
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
