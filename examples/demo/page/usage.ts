import type { UsageAndQuota } from '@svc/db/client'
import { currentApi } from './clients.js'
import { byId } from './elements.js'
import { isOtherUser } from './error-messages.js'
import { dismissNotice, notice } from './notices.js'
import { files, inUnits } from './units.js'

const NEARLY_FULL = 0.85

let loading = false
let stale = false

/** Loads the usage and shows it. Calls during a request share the next request. */
export async function showUsage(
  /** What the server counts although the user has deleted it. */
  deleted: () => { readonly bytes: number; readonly files: number },
): Promise<void> {
  stale = true
  if (loading) return
  loading = true
  try {
    while (stale) {
      stale = false
      const { usage, quota } = await currentApi().db.getUsage({ timeoutSeconds: 30 })
      const { bytes, files: count } = deleted()
      show({ usage: { ...usage, bytes: usage.bytes - bytes, files: usage.files - count }, quota })
      dismissNotice('usage')
    }
  } catch (error) {
    if (!isOtherUser(error)) notice('Couldn’t load how much you store.', 'usage')
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

  byId('limits').textContent =
    `Any type, several at once, up to ${inUnits(maxBytes)} and ${files(maxFiles)} in all.`

  const bar = byId('usage-bar')
  bar.ariaValueMax = String(maxBytes)
  bar.ariaValueNow = String(bytes)
  bar.ariaValueText = `${bytesOfMax}, ${filesOfMax}`
  bar.style.setProperty('--used', `${(100 * bytes) / maxBytes}%`)
  bar.style.setProperty('--reserved', `${(100 * reservedBytes) / maxBytes}%`)
  bar.classList.toggle('nearly-full', Math.max(bytes / maxBytes, usage.files / maxFiles) >= NEARLY_FULL)
}
