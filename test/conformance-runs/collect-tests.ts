import { storeConformance, type ConformanceOptions } from '@svc/db/conformance'

export interface CollectedTest {
  /** The titles of the group and the case, as in `reserve: overwrites by default`. */
  readonly title: string
  readonly run: () => Promise<void>
}

/** Returns the tests that the suite registers, without running them. */
export function collectTests(options: Omit<ConformanceOptions, 'test'>): CollectedTest[] {
  const groups: string[] = []
  const tests: CollectedTest[] = []
  storeConformance({
    ...options,
    test: {
      describe(name, body) {
        groups.push(name)
        body()
        groups.pop()
      },
      it(title, run) {
        tests.push({ title: `${groups.at(-1)}: ${title}`, run })
      },
    },
  })
  return tests
}
