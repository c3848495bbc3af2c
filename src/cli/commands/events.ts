import type { EventCounts, EventPage, ListedEvent } from '../../index.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { count, counted, printable } from '../output/format.js'
import type { Item } from '../output/output.js'
import { inSteps, type Session, type Step } from '../session.js'

const PAGE_SIZE = 1000

export function addEvents(cli: Cli): void {
  cli
    .command(
      'events',
      'Counts and lists the events that are not settled yet, roughly in the order of recording. ' +
        'Old entries mean that nothing delivers them, or that a handler fails again and again.',
    )
    .option('--limit <number>', 'maximum number of events to list (default: all)', positiveInteger)
    .action(({ limit = Number.MAX_SAFE_INTEGER }: { readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        const counts = await session.store.countEvents()
        await session.output.items([countsOf(counts)])
        const total = counts.waiting + counts.claimed + counts.retrying
        const summary = (done: number, complete: boolean) =>
          `${complete ? '' : 'Stopped after '}${counted(done, 'event')}.`
        const work = { total: Math.min(total, limit), readOnly: true, summary }
        await inSteps(session, work, pages(session, limit))
        return EXIT.ok
      }),
    )
}

async function* pages({ store }: Session, limit: number): AsyncGenerator<Step, void> {
  let after: string | null = null
  for (let left = limit; left > 0;) {
    const page: EventPage = await store.listEvents({ limit: Math.min(PAGE_SIZE, left), after })
    yield { done: page.items.length, items: page.items.map(itemOf) }
    left -= page.items.length
    after = page.next
    if (after === null) return
  }
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
