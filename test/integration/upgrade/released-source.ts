import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as server from '@svc/db'
import type { StorageObjectStore } from '@svc/db'
import type * as client from '@svc/db/client'
import type * as adapter from '@svc/db/memory'
import type { Pool, PoolClient } from 'pg'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'

/** The commit of release 1.5.5. */
const RELEASE = '96c7c03e058d8381c852455fc929988ea2f22ab2'

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))

/** The source of release 1.5.5 in a temporary folder. */
export interface ReleasedSource {
  /** The folder of its source. */
  readonly folder: string
  /** Bundles a program of the tests, with the release in place of this version. */
  bundle(entry: string): Promise<BundledWorker>
  /** Removes the folder. */
  remove(): void
}

/** Returns whether this clone has the commit of the release. */
export function hasRelease(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${RELEASE}^{commit}`], { cwd: REPOSITORY, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Extracts the source of the release. */
export function releasedSource(): ReleasedSource {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-release-'))
  const maxBuffer = 64 * 1024 * 1024
  const archive = execFileSync('git', ['archive', RELEASE, 'src'], { cwd: REPOSITORY, maxBuffer })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const source = (file: string) => join(folder, 'src', file)
  const alias = {
    '@svc/db/postgres': source('adapters/postgres/index.ts'),
    '@svc/db/mongo': source('adapters/mongo/index.ts'),
    // The release has none, and its processes open none. Programs that open any database import it.
    '@svc/db/sqlite': join(REPOSITORY, 'src/adapters/sqlite/index.ts'),
    '@svc/db': source('index.ts'),
  }
  return {
    folder: join(folder, 'src'),
    bundle: (entry) => bundleWorker(entry, alias),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** What the release exports for Postgres. Its store lacks the methods that later releases added. */
export interface ReleasedPostgres {
  postgresSchema(options: { readonly schema: string }): string
  postgresAdapter(
    pool: Pool | PoolClient,
    options: { readonly schema: string; readonly now?: () => Date },
  ): StorageObjectStore
}

/** Loads the Postgres adapter of the release into this process. */
export const releasedPostgres = () => loadReleased<ReleasedPostgres>('adapters/postgres/index.ts')

/** What a client, and a server in memory, need of either version. */
export type Library = Pick<typeof server, 'createS3Server' | 'db' | 'memoryStorage'> &
  Pick<typeof adapter, 'memoryAdapter'> &
  Pick<typeof client, 'createS3Client' | 'dbClient'>

/** Loads client and server of the release into this process. */
export const releasedLibrary = () =>
  loadReleased<Library>('index.ts', 'adapters/memory/index.ts', 'client/index.ts')

async function loadReleased<Exports>(...entries: readonly string[]): Promise<Exports> {
  const released = releasedSource()
  const entry = join(released.folder, 'loaded.ts')
  writeFileSync(entry, entries.map((file) => `export * from './${file}'\n`).join(''))
  const { file, remove } = await bundleWorker(entry)
  try {
    return createRequire(import.meta.url)(file) as Exports
  } finally {
    remove()
    released.remove()
  }
}
