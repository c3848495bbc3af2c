import type { Leftover } from '../../index.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import type { Item } from '../output.js'
import { list } from '../session.js'

export function addLeftovers(cli: Cli): void {
  cli
    .command(
      'leftovers',
      'Lists keys and multipart uploads that the bucket may still hold without a row, oldest first. ' +
        'The cleanUp job of the application deletes them. Old entries mean that it does not run.',
    )
    .option('--limit <number>', 'maximum number of entries (default: all)', positiveInteger)
    .action(({ limit }: { readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        await list(session, { noun: 'leftover', limit }, itemOf, async (limit, after: Leftover | null) => {
          const rows = await session.store.listLeftovers({ limit, after })
          const last = rows.at(-1)
          return last ? { rows, next: last } : null
        })
      }),
    )
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
