import type { EventCounts, ListedEvent } from '../../index.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import { count, counted } from '../format.js'
import type { Item } from '../output.js'
import { list } from '../session.js'

export function addEvents(cli: Cli): void {
  cli
    .command(
      'events',
      'Counts and lists the events that are not settled yet, roughly in the order of recording. ' +
        'Old entries mean that nothing delivers them, or that a handler fails again and again.',
    )
    .option('--limit <number>', 'maximum number of events to list (default: all)', positiveInteger)
    .action(({ limit }: { readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        const counts = await session.store.countEvents()
        await session.output.items([countsOf(counts)])
        const total = counts.waiting + counts.claimed + counts.retrying
        await list(session, { noun: 'event', total, limit }, itemOf, async (limit, after: string | null) => {
          const { items, next } = await session.store.listEvents({ limit, after })
          return { rows: items, next }
        })
      }),
    )
}

function countsOf(counts: EventCounts): Item {
  const { waiting, claimed, retrying } = counts
  const text = `${count(waiting)} waiting, ${count(claimed)} claimed, ${count(retrying)} retrying`
  return { json: counts, text }
}

function itemOf(event: ListedEvent): Item {
  const { type, object, createdAt, dueAt, attempts } = event
  const columns = [
    createdAt.toISOString(),
    type.padEnd(11),
    `due ${dueAt.toISOString()}`,
    counted(attempts, 'attempt'),
    printable(`${object.bucket}/${object.key}`),
  ]
  return { json: event, text: columns.join('  ') }
}
