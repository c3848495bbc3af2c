import type { Leftover } from '../../index.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import type { Item } from '../output/output.js'
import { printable } from '../output/printable.js'
import { counted } from '../output/units.js'
import type { Session } from '../session.js'
import { inSteps, type Step } from '../steps.js'

const PAGE = 1000

export function addLeftovers(cli: Cli): void {
  cli
    .command(
      'leftovers',
      'Lists what may still lie in the bucket though no row stands for it, the oldest first. ' +
        'The cleanUp of the application removes it; old entries tell that it does not run.',
    )
    .option('--limit <number>', 'at most so many (default: all)', positiveInteger)
    .action(({ limit = Number.MAX_SAFE_INTEGER }: { readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        const told = (done: number, complete: boolean) =>
          `${complete ? '' : 'Stopped after '}${counted(done, 'leftover')}.`
        await inSteps(session, { total: null, reading: true, told }, pages(session, limit))
        return EXIT.ok
      }),
    )
}

async function* pages({ store }: Session, limit: number): AsyncGenerator<Step, void> {
  let after: Leftover | null = null
  for (let left = limit; left > 0;) {
    const page: readonly Leftover[] = await store.listLeftovers({ limit: Math.min(PAGE, left), after })
    after = page.at(-1) ?? null
    if (after === null) return
    yield { done: page.length, items: page.map(itemOf) }
    left -= page.length
  }
}

function itemOf(leftover: Leftover): Item {
  const { since, writableUntil, bucket, key, storageKey, uploadId } = leftover
  const columns = [
    since.toISOString(),
    `writable until ${writableUntil.toISOString()}`,
    printable(`${bucket}/${storageKey ?? key}`),
    ...(uploadId === null ? [] : [`multipart upload ${printable(uploadId)}`]),
  ]
  return { json: leftover, text: columns.join('  ') }
}
