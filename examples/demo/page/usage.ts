import type { DbApi, UsageAndQuota } from '@svc/db/client'
import { byId } from './elements.js'
import { notice } from './notices.js'
import { files, inUnits } from './units.js'

const NEARLY_FULL = 0.85

let loading = false
let stale = false

/** Loads the usage and shows it. Calls during a request share the next request. */
export async function showUsage(api: { readonly db: DbApi }): Promise<void> {
  stale = true
  if (loading) return
  loading = true
  try {
    while (stale) {
      stale = false
      show(await api.db.getUsage())
    }
  } catch {
    notice('Couldn’t load your storage usage.')
  } finally {
    loading = false
  }
}

function show({ usage, quota }: UsageAndQuota): void {
  const { bytes, reservedBytes } = usage
  const { maxBytes = Infinity, maxFiles = Infinity } = quota
  const bytesOfMax = `${inUnits(bytes)} of ${inUnits(maxBytes)}`
  const filesOfMax = `${usage.files} of ${files(maxFiles)}`
  byId('usage-bytes').textContent = bytesOfMax
  byId('usage-reserved').textContent = reservedBytes > 0 ? `and ${inUnits(reservedBytes)} uploading` : ''
  byId('usage-files').textContent = filesOfMax

  const bar = byId('usage-bar')
  bar.ariaValueMax = String(maxBytes)
  bar.ariaValueNow = String(bytes)
  bar.ariaValueText = `${bytesOfMax}, ${filesOfMax}`
  bar.style.setProperty('--used', `${(100 * bytes) / maxBytes}%`)
  bar.style.setProperty('--reserved', `${(100 * reservedBytes) / maxBytes}%`)
  bar.classList.toggle('nearly-full', Math.max(bytes / maxBytes, usage.files / maxFiles) >= NEARLY_FULL)
}
