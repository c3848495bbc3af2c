import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { HOT_SCOPES } from './programs.js'

export async function expectNobodyOverQuota(store: StorageObjectStore): Promise<void> {
  for (const [scope, limits] of Object.entries(HOT_SCOPES)) {
    const { bytes, files, reservedBytes, reservedFiles } = await store.getScopeUsage(scope)
    const { maxBytes, maxFiles } = { maxBytes: Infinity, maxFiles: Infinity, ...limits }
    expect(bytes + reservedBytes).toBeLessThanOrEqual(maxBytes)
    expect(files + reservedFiles).toBeLessThanOrEqual(maxFiles)
  }
}
