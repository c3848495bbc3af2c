import type { ScopeUsage } from '../../index.js'
import { counted, exactBytes } from './units.js'

/** What a scope holds, in two lines. */
export function usageText({
  bytes,
  files,
  reservedBytes,
  reservedFiles,
}: ScopeUsage): readonly [string, string] {
  return [
    `stored    ${exactBytes(bytes)} in ${counted(files, 'file')}`,
    `reserved  ${exactBytes(reservedBytes)} in ${counted(reservedFiles, 'new file')}`,
  ]
}
