import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import { differenceItem } from '../output/difference-item.js'

export function addCheckUsage(cli: Cli): void {
  cli
    .command(
      'check-usage',
      'Compares the usage counters with the rows. Changes nothing; the exit code is 1 where some differ.',
    )
    .argument('[scope]', 'only this owner (default: all)')
    .action((scope: string | undefined) =>
      cli.withDatabase(async ({ store, output }) => {
        const differences = await store.checkUsage(scope)
        await output.items(differences.map(differenceItem))
        if (differences.length > 0) return EXIT.found
        output.note('All counters fit their rows.')
        return EXIT.ok
      }),
    )
}
