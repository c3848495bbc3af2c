import { InvalidArgumentError } from 'commander'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { counted } from '../output/format.js'
import { inSteps, type Session, type Step } from '../session.js'

const BATCH_SIZE = 1000

export function addPurgeDeleted(cli: Cli): void {
  cli
    .command('purge-deleted', 'Purges the history of objects that were deleted up to a date.')
    .requiredOption(
      '--before <date>',
      'date or time, such as 2026-01-31 (UTC) or 2026-01-31T12:00:00Z',
      pastDate,
    )
    .action(({ before }: { readonly before: Date }) =>
      cli.withDatabase(async (session) => {
        const summary = (done: number, complete: boolean) =>
          `Purged ${counted(done, 'row')} of history${complete ? '' : '; the others are unchanged'}.`
        const dropped = await inSteps(session, { total: null, summary }, purge(session, before))
        await session.output.items([{ json: { dropped, before }, text: null }])
        return EXIT.ok
      }),
    )
}

async function* purge({ store }: Session, before: Date): AsyncGenerator<Step, void> {
  for (;;) {
    const dropped = await store.purgeDeleted({ before, limit: BATCH_SIZE })
    if (dropped === 0) return
    yield { done: dropped }
  }
}

const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Parses an ISO date. A date without a time means its start in UTC. A time needs a zone, to mean the same on each machine. */
function pastDate(text: string): Date {
  const date = new Date(text)
  const time = date.getTime()
  if (!ISO_DATE.test(text) || Number.isNaN(time) || !isInCalendar(text)) {
    throw new InvalidArgumentError(
      'Must be a date such as 2026-01-31, or a time with a zone such as 2026-01-31T12:00:00Z.',
    )
  }
  if (time > Date.now()) throw new InvalidArgumentError('Must not be in the future.')
  return date
}

/** JavaScript parses 31 February as a day in March. */
function isInCalendar(text: string): boolean {
  const day = text.slice(0, 10)
  return new Date(day).toISOString().startsWith(day)
}
