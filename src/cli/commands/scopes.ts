import type { ScopeSummary } from '../../index.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { bytes, counted, printable } from '../output/format.js'
import type { Item } from '../output/output.js'
import { inSteps, type Session, type Step } from '../session.js'

const PAGE_SIZE = 1000

interface ScopesOptions {
  readonly after?: string
  readonly limit?: number
}

export function addScopes(cli: Cli): void {
  cli
    .command('scopes', 'Lists the scopes with their usage and number of rows, in byte order.')
    .option('--after <scope>', 'only scopes after this one')
    .option('--limit <number>', 'maximum number of scopes (default: all)', positiveInteger)
    .action(({ after, limit = Number.MAX_SAFE_INTEGER }: ScopesOptions) =>
      cli.withDatabase(async (session) => {
        const summary = (done: number, complete: boolean) =>
          `${complete ? '' : 'Stopped after '}${counted(done, 'scope')}.`
        const work = { total: null, readOnly: true, summary }
        await inSteps(session, work, pages(session, after ?? null, limit))
        return EXIT.ok
      }),
    )
}

async function* pages({ store }: Session, first: string | null, limit: number): AsyncGenerator<Step, void> {
  let after = first
  for (let left = limit; left > 0;) {
    const page: readonly ScopeSummary[] = await store.listScopes({ limit: Math.min(PAGE_SIZE, left), after })
    after = page.at(-1)?.scope ?? null
    if (after === null) return
    yield { done: page.length, items: page.map(itemOf) }
    left -= page.length
  }
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
