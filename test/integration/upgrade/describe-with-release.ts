import { describe, it } from 'vitest'
import { hasRelease } from './released-source.js'

/** Describes tests that need the release, or a visible skip if this clone lacks its commit. */
export function describeWithRelease(title: string, body: () => void): void {
  if (hasRelease()) {
    describe(title, body)
    return
  }
  const reason = 'this clone lacks the commit of release 1.5.5: run git fetch --unshallow'
  console.warn(`Skipped: ${title}, because ${reason}`)
  describe.skip(`${title} (${reason})`, () => {
    it('needs the commit of the release', () => {})
  })
}
