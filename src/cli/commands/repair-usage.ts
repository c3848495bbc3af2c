import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import { differenceItem } from '../output/difference-item.js'
import { counted } from '../output/units.js'
import type { Session } from '../session.js'
import { inSteps, type Step } from '../steps.js'

export function addRepairUsage(cli: Cli): void {
  cli
    .command('repair-usage', 'Corrects the usage counters that differ from the rows, and says which.')
    .argument('[scope]', 'only this owner (default: all)')
    .action((scope: string | undefined) =>
      cli.withDatabase(async (session) => {
        const differences = await session.store.checkUsage(scope)
        const scopes = scope === undefined ? differences.map((difference) => difference.scope) : [scope]
        const total = differences.length
        const told = (done: number, complete: boolean) =>
          complete
            ? `Corrected the counters of ${counted(done, 'scope')}.`
            : `Corrected the counters of ${counted(done, 'scope')} of ${total}; the others are as they were.`
        await inSteps(session, { total, told }, repairs(session, scopes, scope === undefined))
        return EXIT.ok
      }),
    )
}

/** Scope by scope, each by itself. */
async function* repairs(
  { store }: Session,
  scopes: readonly string[],
  all: boolean,
): AsyncGenerator<Step, void> {
  for (const scope of scopes) {
    const repaired = await store.repairUsage(scope)
    yield { done: repaired.length, items: repaired.map(differenceItem) }
  }
  // Counts that no usage shows differ unseen, and a scope may have gone wrong meanwhile.
  if (all) {
    const repaired = await store.repairUsage()
    yield { done: repaired.length, items: repaired.map(differenceItem) }
  }
}
