import type { ScopeSummary } from '../../index.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import { bytes } from '../format.js'
import type { Item } from '../output.js'
import { list } from '../session.js'

export function addScopes(cli: Cli): void {
  cli
    .command('scopes', 'Lists the scopes with their usage and number of rows, in byte order.')
    .option('--after <scope>', 'only scopes after this one')
    .option('--limit <number>', 'maximum number of scopes (default: all)', positiveInteger)
    .action(({ after, limit }: { readonly after?: string; readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        await list(session, { noun: 'scope', limit, after }, itemOf, async (limit, after: string | null) => {
          const rows = await session.store.listScopes({ limit, after })
          const last = rows.at(-1)
          return last ? { rows, next: last.scope } : null
        })
      }),
    )
}

function itemOf(summary: ScopeSummary): Item {
  const { scope, usage, counts } = summary
  const columns = [
    bytes(usage.bytes).padStart(10),
    `${counts.active} active`,
    `${counts.pending} pending`,
    `${counts.deleted} deleted`,
    printable(scope),
  ]
  return { json: summary, text: columns.join('  ') }
}
