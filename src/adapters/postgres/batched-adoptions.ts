import { keyId } from '../../core/names.js'
import type { AdoptCommand } from '../../core/store/driver.js'
import { createWriteBatcher } from '../shared/write-batcher.js'
import { wasReported } from './connection/failures.js'
import type { Call } from './connection/retries.js'
import { ADOPT_ARGUMENTS, batchedWrite, valuesOf } from './sql/arguments.js'
import { readWriteResult, type WriteResult, type WriteStatements } from './sql/writes.js'

/**
 * Creates the adoption of bytes that many callers do at once. Those of one scope change the same usage row. Those that are in
 * progress in this process share a round trip and a transaction.
 *
 * A batch whose response was lost is repeated: each adoption finds the row with its id, and reports it again.
 */
export function createBatchedAdoptions(
  call: Call,
  statements: WriteStatements,
): (command: AdoptCommand) => Promise<WriteResult> {
  const batcher = createWriteBatcher<AdoptCommand, WriteResult>({
    run: (commands) => (commands.length === 1 ? runAlone(commands[0]!) : runBatch(commands)),
    conflictKeyOf: ({ bucket, storageKey }) => keyId({ bucket, key: storageKey }),
    batchThreshold: 2,
    // Postgres rolled the batch back if it reported an error. Run each adoption alone to find the one that failed.
    recoveryFrom: (error) => (wasReported(error) ? 'concurrent' : 'fail'),
  })

  async function runAlone(command: AdoptCommand): Promise<[PromiseSettledResult<WriteResult>]> {
    const values = valuesOf(ADOPT_ARGUMENTS, command)
    const [row] = await call(statements.adopt, values, { repeatable: true })
    return [{ status: 'fulfilled', value: readWriteResult(row?.[0]) }]
  }

  async function runBatch(commands: readonly AdoptCommand[]): Promise<PromiseSettledResult<WriteResult>[]> {
    const values = [
      commands[0]!.scope,
      JSON.stringify(
        commands.map((command, place) => ({ place, ...batchedWrite(ADOPT_ARGUMENTS, command) })),
      ),
    ]
    const results = new Map<number, WriteResult>()
    for (const [index, result] of await call(statements.adoptBatch, values, { repeatable: true })) {
      results.set(Number(index), readWriteResult(result))
    }
    return commands.map((_, index) => {
      const value = results.get(index)
      if (!value) throw new RangeError('adopt_batch_v1 returned no result for one of its adoptions.')
      return { status: 'fulfilled', value }
    })
  }

  return (command) => batcher.run(command.scope, command)
}
