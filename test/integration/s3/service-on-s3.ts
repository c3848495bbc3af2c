import type { S3Client } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { expect } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { startService, type Service, type ServiceOptions } from '../../unit/server/service.js'
import { keysIn } from './s3-server.js'

/** Long enough for every URL, reservation, and leftover in these tests to expire. */
export const LATER = 5 * HOUR

/** Starts a service with this bucket. The route `docs` has a key function. */
export function serviceOn(client: S3Client, bucket: string, options: ServiceOptions = {}): Service {
  const clock = options.clock ?? new ManualClock()
  return startService({
    routes: { files: {}, docs: { key: ({ scope, filename }) => `${scope}/${filename}`, overwrite: true } },
    storage: () => s3Storage({ client, now: clock.now }),
    ...options,
    bucket,
    clock,
  })
}

export const FILE = { route: 'files' }
export const REPORT = { route: 'docs', filename: 'report' }

/** Expects the bucket to hold exactly the bytes of the active objects, and each scope's usage to match them. */
export async function expectAccounted(
  { objects }: Service,
  { client, bucket, scopes }: { client: S3Client; bucket: string; scopes: readonly string[] },
): Promise<void> {
  const storageKeys: (string | null)[] = []
  for (const scope of scopes) {
    const { objects: rows } = await objects.listByScope({ scope, limit: 1000 })
    expect(rows.filter(({ status }) => status !== 'active')).toEqual([])
    const bytes = rows.reduce((sum, { size }) => sum + (size ?? 0), 0)
    const used = { bytes, files: rows.length, reservedBytes: 0, reservedFiles: 0 }
    expect(await objects.getScopeUsage(scope)).toEqual(used)
    storageKeys.push(...rows.map(({ storageKey }) => storageKey))
  }
  expect(await objects.checkUsage()).toEqual([])
  expect((await keysIn(client, bucket)).sort()).toEqual(storageKeys.sort())
}
