import type { ScopeUsage } from '../../core/store/records.js'

/** A usage as it lies in Redis: four decimal numbers. */
export function usageText({ bytes, files, reservedBytes, reservedFiles }: ScopeUsage): string {
  return `${bytes} ${files} ${reservedBytes} ${reservedFiles}`
}

/** `null` for a text that is none, which somebody else must have put there. */
export function readUsageText(text: string): ScopeUsage | null {
  if (!/^\d+( \d+){3}$/.test(text)) return null
  const [bytes, files, reservedBytes, reservedFiles] = text.split(' ').map(Number)
  const usage = { bytes: bytes!, files: files!, reservedBytes: reservedBytes!, reservedFiles: reservedFiles! }
  return Object.values(usage).every(Number.isSafeInteger) ? usage : null
}
