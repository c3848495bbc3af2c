import { storeConformance, type ConformanceOptions } from '@svc/db/conformance'

export interface CollectedTest {
  /** The group and the sentence, as in `reserve: uses the id that it is given`. */
  readonly title: string
  readonly run: () => Promise<void>
}

/** A test runner that runs nothing: the registered suite as a list. */
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
      it(sentence, run) {
        tests.push({ title: `${groups.at(-1)}: ${sentence}`, run })
      },
    },
  })
  return tests
}
