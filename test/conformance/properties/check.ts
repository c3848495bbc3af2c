import fc from 'fast-check'
import { ConformanceFailure } from '../assertions.js'
import type { PropertySettings } from '../options.js'

/** Milliseconds to spend on shortening a failing script. */
const SHRINKING = 20_000

/**
 * Runs a property. A failure reports the shortest failing script found, and the options that repeat it.
 *
 * The reported path is only the number of the run, from which shrinking starts again. A full path is only valid for a
 * store that fails at the same call each time.
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
      `A script of calls failed (run ${Number(failedRun) + 1}, shrunk ${details.numShrinks} times):`,
      '',
      failed ? error.message : `The suite itself failed: ${String(error)}`,
      '',
      'T is the start of the script; #1, #2 … are ids.',
      `To repeat it: storeConformance({ …, seed: ${seed}, path: "${failedRun}" }), or set CONFORMANCE_SEED=${seed}`,
    ].join('\n'),
    failed ? undefined : { cause: error },
  )
}
