import { byId } from './elements.js'
import { notice } from './notices.js'
import { files, inUnits } from './units.js'

/** What the demo's own `GET /usage` answers: the scope's usage and its quota. */
interface UsageAndQuota {
  readonly bytes: number
  readonly files: number
  readonly reservedBytes: number
  readonly maxBytes: number
  readonly maxFiles: number
}

const NEARLY_FULL = 0.85

let asking = false
let askAgain = false

/** Asks for the usage and shows it. Calls that come while an answer is under way share the next one. */
export async function showUsage(): Promise<void> {
  askAgain = true
  if (asking) return
  asking = true
  try {
    while (askAgain) {
      askAgain = false
      const response = await fetch('/usage')
      if (!response.ok) throw new Error(`GET /usage answered ${response.status}`)
      show((await response.json()) as UsageAndQuota)
    }
  } catch {
    notice('How much space you use can’t be shown right now.')
  } finally {
    asking = false
  }
}

function show(usage: UsageAndQuota): void {
  const { bytes, reservedBytes, maxBytes, maxFiles } = usage
  const bytesOfMax = `${inUnits(bytes)} of ${inUnits(maxBytes)}`
  const filesOfMax = `${usage.files} of ${files(maxFiles)}`
  byId('usage-bytes').textContent = bytesOfMax
  byId('usage-reserved').textContent = reservedBytes > 0 ? `and ${inUnits(reservedBytes)} on the way` : ''
  byId('usage-files').textContent = filesOfMax

  const bar = byId('usage-bar')
  bar.ariaValueMax = String(maxBytes)
  bar.ariaValueNow = String(bytes)
  bar.ariaValueText = `${bytesOfMax}, ${filesOfMax}`
  bar.style.setProperty('--used', `${(100 * bytes) / maxBytes}%`)
  bar.style.setProperty('--reserved', `${(100 * reservedBytes) / maxBytes}%`)
  bar.classList.toggle('nearly-full', Math.max(bytes / maxBytes, usage.files / maxFiles) >= NEARLY_FULL)
}
