import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import { printable } from '../output/printable.js'
import { usageText } from '../output/usage-text.js'

export function addUsage(cli: Cli): void {
  cli
    .command('usage', 'Says what a scope holds. A scope that was never seen holds nothing.')
    .argument('<scope>', 'the owner, such as user:42')
    .action((scope: string) =>
      cli.withDatabase(async ({ store, output }) => {
        const usage = await store.getScopeUsage(scope)
        await output.items([
          { json: { scope, ...usage }, text: [printable(scope), ...usageText(usage)].join('\n  ') },
        ])
        return EXIT.ok
      }),
    )
}
