import fc from 'fast-check'
import { ConformanceFailure } from '../assertions.js'
import type { PropertySettings } from '../options.js'

/** Milliseconds that are spent on making a failing script shorter. */
const SHRINKING = 20_000

/**
 * Runs something with inputs of all kinds. A failure is told by the script that was left after shrinking, and by how to
 * run it again.
 *
 * The path is cut to the number of the run: from there shrinking finds its way again by itself, whereas the rest of a
 * path holds only for a store that fails at the same call each time.
 */
export async function check<Input>(
  inputs: fc.Arbitrary<Input>,
  run: (input: Input) => Promise<void>,
  { numRuns, seed, path, shrink }: PropertySettings,
): Promise<void> {
  let giveUpAt = Infinity
  const property = fc.asyncProperty(inputs, async (input) => {
    if (Date.now() > giveUpAt) return
    try {
      await run(input)
    } catch (error) {
      if (giveUpAt === Infinity) giveUpAt = Date.now() + SHRINKING
      throw error
    }
  })
  const details = await fc.check(property, {
    numRuns,
    seed,
    endOnFailure: !shrink,
    ...(path !== undefined && { path }),
  })
  if (!details.failed) return
  const failedRun = details.counterexamplePath?.split(':')[0] ?? '0'
  const error = details.errorInstance
  const failed = error instanceof ConformanceFailure
  throw new ConformanceFailure(
    [
      `A script of calls fails (run ${Number(failedRun) + 1}, shrunk ${details.numShrinks} times):`,
      '',
      failed ? error.message : `The suite itself could not go on: ${String(error)}`,
      '',
      'T is the time at which the clock of the script starts; #1, #2 … are ids.',
      `To run it again: storeConformance({ …, seed: ${seed}, path: "${failedRun}" }), or with CONFORMANCE_SEED=${seed}`,
    ].join('\n'),
    failed ? undefined : { cause: error },
  )
}
