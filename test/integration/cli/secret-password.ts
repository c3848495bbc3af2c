import { expect } from 'vitest'

/** Contains characters that a URL must encode. */
export const PASSWORD = 'p@ss/word#1'
export const ENCODED = encodeURIComponent(PASSWORD)

export function expectNoPassword({ stdout, stderr }: { stdout: string; stderr: string }): void {
  for (const secret of [PASSWORD, ENCODED, 'word#1']) expect(stdout + stderr).not.toContain(secret)
}
