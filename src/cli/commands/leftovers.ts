import type { Leftover } from '../../index.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import type { Item } from '../output/output.js'
import { counted, printable } from '../output/format.js'
import { inSteps, type Session, type Step } from '../session.js'

const PAGE_SIZE = 1000

export function addLeftovers(cli: Cli): void {
  cli
    .command(
      'leftovers',
      'Lists keys and multipart uploads that the bucket may still hold without a row, oldest first. ' +
        'The cleanUp job of the application deletes them. Old entries mean that it does not run.',
    )
    .option('--limit <number>', 'maximum number of entries (default: all)', positiveInteger)
    .action(({ limit = Number.MAX_SAFE_INTEGER }: { readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        const summary = (done: number, complete: boolean) =>
          `${complete ? '' : 'Stopped after '}${counted(done, 'leftover')}.`
        await inSteps(session, { total: null, readOnly: true, summary }, pages(session, limit))
        return EXIT.ok
      }),
    )
}

async function* pages({ store }: Session, limit: number): AsyncGenerator<Step, void> {
  let after: Leftover | null = null
  for (let left = limit; left > 0;) {
    const page: readonly Leftover[] = await store.listLeftovers({ limit: Math.min(PAGE_SIZE, left), after })
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
