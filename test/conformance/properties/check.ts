import fc from 'fast-check'
import { ConformanceFailure } from '../failure.js'
import type { PropertySettings } from '../options.js'
import type { StoreFactory } from '../store-factory.js'

/** Milliseconds to spend on shortening a failing script. */
const SHRINKING = 20_000

/** A failing script, and the same as code. */
export class ScriptFailure extends ConformanceFailure {
  readonly code: readonly string[]

  constructor(message: string, code: readonly string[]) {
    super(message)
    this.code = code
  }
}

/**
 * Runs a property. A failure reports the shortest failing script found, and the options that repeat that script alone.
 * `replayOf` returns what else is needed to generate an input again, because commands shrink to those that have run.
 */
export async function check<Input>(
  stores: StoreFactory,
  inputs: fc.Arbitrary<Input>,
  run: (input: Input) => Promise<void>,
  { numRuns, timeLimit, seed, path, shrink, replay, script }: PropertySettings,
  replayOf: (input: Input) => string = () => '',
): Promise<void> {
  let endsAt = Date.now() + timeLimit
  let hasFailed = false
  const property = fc.asyncProperty(inputs, async (input) => {
    if (Date.now() > endsAt) return
    try {
      await run(input)
    } catch (error) {
      // Each shorter script would hang too.
      if (stores.hasHung()) endsAt = 0
      else if (!hasFailed) endsAt = Date.now() + SHRINKING
      hasFailed = true
      throw error
    }
  })
  const start = replay?.path ?? path
  const details = await fc.check(property, {
    numRuns: replay ? 1 : numRuns,
    seed,
    endOnFailure: !shrink || replay !== null,
    ...(start !== undefined && { path: start }),
  })
  if (!details.failed) return
  const failedAt = details.counterexamplePath ?? '0'
  const [input] = details.counterexample ?? []
  const again = [script, failedAt, input === undefined ? '' : replayOf(input)].filter((part) => part !== '')
  const shown = replay ? (replay.path + '/' + replay.commands).replace(/\/$/, '') : null
  const repeat = shown === null ? again.join('/') : `${script}/${shown}`
  const error = details.errorInstance
  const failed = error instanceof ConformanceFailure
  const code = error instanceof ScriptFailure ? ['As code:', '', ...error.code, ''] : []
  const how = replay
    ? 'repeated'
    : `run ${Number(failedAt.split(':')[0]) + 1}, shrunk ${details.numShrinks} times`
  throw new ConformanceFailure(
    [
      `A script of calls failed (${how}):`,
      '',
      failed ? error.message : `The suite itself failed: ${String(error)}`,
      '',
      ...code,
      'T is the start of the script; #1, #2 … are ids.',
      `To repeat this script: storeConformance({ …, seed: ${seed}, path: "${repeat}" }),`,
      `or set CONFORMANCE_SEED=${seed} and CONFORMANCE_PATH="${repeat}"`,
    ].join('\n'),
    failed ? undefined : { cause: error },
  )
}
