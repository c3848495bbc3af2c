import { describe, expect, it } from 'vitest'
import { trackProgress } from '../../../src/client/upload/transfer.js'

describe('trackProgress', () => {
  it('reports only increasing values up to the total', () => {
    const steps: unknown[] = []
    const report = trackProgress(10, (step) => steps.push(step))
    for (const bytes of [0, 4, 4, 3, 12, 10, Infinity]) report(bytes)
    expect(steps).toEqual([
      { loaded: 0, total: 10 },
      { loaded: 4, total: 10 },
      { loaded: 10, total: 10 },
    ])
  })

  it('works without a listener', () => {
    expect(() => trackProgress(10, null)(10)).not.toThrow()
  })
})
