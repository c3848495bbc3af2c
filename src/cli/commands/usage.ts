import type { UsageDifference } from '../../index.js'
import { printable } from '../../core/printable.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { counted, usageText } from '../format.js'
import type { Item } from '../output.js'
import { inSteps, type Session, type Step } from '../session.js'

export function addUsage(cli: Cli): void {
  cli
    .command('usage', 'Shows how much a scope stores. An unknown scope stores nothing.')
    .argument('<scope>', 'owner, such as user:42')
    .action((scope: string) =>
      cli.withDatabase(async ({ store, output }) => {
        const usage = await store.getScopeUsage(scope)
        await output.items([
          { json: { scope, ...usage }, text: [printable(scope), ...usageText(usage)].join('\n  ') },
        ])
      }),
    )
}

export function addCheckUsage(cli: Cli): void {
  cli
    .command(
      'check-usage',
      'Compares the usage counters with the rows. Changes nothing. Exits with 1 if some differ.',
    )
    .argument('[scope]', 'only this owner (default: all)')
    .action((scope: string | undefined) =>
      cli.withDatabase(async ({ store, output }) => {
        const differences = await store.checkUsage(scope)
        await output.items(differences.map(itemOf))
        if (differences.length > 0) return EXIT.found
        output.note('All counters match their rows.')
        return EXIT.ok
      }),
    )
}

export function addRepairUsage(cli: Cli): void {
  cli
    .command('repair-usage', 'Corrects the usage counters that differ from the rows, and lists them.')
    .argument('[scope]', 'only this owner (default: all)')
    .action((scope: string | undefined) =>
      cli.withDatabase(async (session) => {
        const differences = await session.store.checkUsage(scope)
        // All at last, for row counts, which `checkUsage` doesn't report, and scopes that went wrong in the meantime.
        const scopes =
          scope === undefined ? [...differences.map((difference) => difference.scope), undefined] : [scope]
        const total = differences.length
        const summary = (done: number, complete: boolean) =>
          complete
            ? `Corrected the counters of ${counted(done, 'scope')}.`
            : `Corrected the counters of ${counted(done, 'scope')} of ${total}; the others are unchanged.`
        await inSteps(session, { total, summary }, repairs(session, scopes))
      }),
    )
}

async function* repairs({ store }: Session, scopes: readonly (string | undefined)[]): AsyncGenerator<Step> {
  for (const scope of scopes) {
    const repaired = await store.repairUsage(scope)
    yield { done: repaired.length, items: repaired.map(itemOf) }
  }
}

function itemOf(difference: UsageDifference): Item {
  const { scope, recorded, actual } = difference
  const lines = [
    printable(scope),
    ...usageText(recorded).map((line) => `counters: ${line}`),
    ...usageText(actual).map((line) => `rows:     ${line}`),
  ]
  return { json: difference, text: lines.join('\n  ') }
}
