import { runTransfer } from '../../server/jobs/transfer-scope.js'
import { printable } from '../../core/printable.js'
import { checkText } from '../../core/store/validation/checks.js'
import { contextOf } from '../bucket.js'
import { REPEAT, runJob } from '../session.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT, UsageError } from '../exit.js'
import { counted } from '../format.js'

interface TransferScopeOptions {
  readonly from: string
  readonly to: string
  readonly maxBytes?: number
  readonly maxFiles?: number
}

export function addTransferScope(cli: Cli): void {
  cli
    .command(
      'transfer-scope',
      'Gives all objects of a scope to another one. Uploads of new keys stay. Exits with 1 if one of them failed.',
    )
    .requiredOption('--from <scope>', 'the owner (required)')
    .requiredOption('--to <scope>', 'the new owner (required)')
    .option(
      '--max-bytes <number>',
      'limit of the bytes that the new owner may have (default: none)',
      positiveInteger,
    )
    .option(
      '--max-files <number>',
      'limit of the objects that the new owner may have (default: none)',
      positiveInteger,
    )
    .action(({ from, to, maxBytes, maxFiles }: TransferScopeOptions) =>
      cli.withDatabase(async (session) => {
        const { store } = session
        if (from === to) throw new UsageError('--to must be another scope than --from.')
        checkText('scope', to, '--to')
        const total = await store.countByScope(from, 'active')
        const { failures } = await runJob(
          session,
          (job) => runTransfer(contextOf(store), { ...job, from, to, quota: { maxBytes, maxFiles } }),
          {
            total,
            summary: ({ transferred }) =>
              `Transferred ${counted(transferred, 'object')} to ${printable(to)}.`,
            resume: () => REPEAT,
          },
        )
        return failures > 0 ? EXIT.found : EXIT.ok
      }),
    )
}
