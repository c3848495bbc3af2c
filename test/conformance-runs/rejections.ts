import type { Mutant } from '../broken-stores/mutant.js'
import { collectTests } from './collect-tests.js'

/** A fixed seed, so the result doesn't depend on luck. Most mutants fail within the first few runs. */
const SCRIPTS = { seed: 20_260_101, numRuns: 1000, shrink: false }

export const isScript = (title: string) => title.startsWith('scripts: ')

interface Effort {
  readonly isEnough?: (rejected: readonly string[]) => boolean
  readonly numRuns?: number
}

/** Runs tests of a mutant until `isEnough`, and returns the titles of those that reject it. */
export async function rejections(
  mutant: Mutant,
  isTried: (title: string) => boolean,
  { isEnough = () => false, numRuns = SCRIPTS.numRuns }: Effort = {},
): Promise<readonly string[]> {
  const rejected: string[] = []
  const options = { name: 'mutant', createStore: mutant.createStore, ...mutant.options, ...SCRIPTS, numRuns }
  for (const { title, run } of collectTests(options)) {
    if (!isTried(title)) continue
    const error: unknown = await run().catch((thrown: unknown) => thrown)
    // A mutant that fails with any other error crashed by itself.
    const isRejection = error instanceof Error && /^(ConformanceFailure|StorageError)$/.test(error.name)
    if (isRejection) rejected.push(title)
    if (isEnough(rejected)) break
  }
  return rejected
}
