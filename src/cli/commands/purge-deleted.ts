import { InvalidArgumentError } from 'commander'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import { counted } from '../output/units.js'
import type { Session } from '../session.js'
import { inSteps, type Step } from '../steps.js'

const DROPPED_AT_ONCE = 1000

export function addPurgeDeleted(cli: Cli): void {
  cli
    .command('purge-deleted', 'Drops the history of objects that were deleted up to a date.')
    .requiredOption('--before <date>', 'such as 2026-01-31 (UTC) or 2026-01-31T12:00:00Z', pastDate)
    .action(({ before }: { readonly before: Date }) =>
      cli.withDatabase(async (session) => {
        const told = (done: number, complete: boolean) =>
          `Dropped ${counted(done, 'row')} of history${complete ? '' : '; the others are as they were'}.`
        const dropped = await inSteps(session, { total: null, told }, purge(session, before))
        await session.output.items([{ json: { dropped, before }, text: null }])
        return EXIT.ok
      }),
    )
}

async function* purge({ store }: Session, before: Date): AsyncGenerator<Step, void> {
  for (;;) {
    const dropped = await store.purgeDeleted({ before, limit: DROPPED_AT_ONCE })
    if (dropped === 0) return
    yield { done: dropped }
  }
}

const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** A date without a time is its start in UTC. A time without its zone would mean another one on each machine. */
function pastDate(text: string): Date {
  const date = new Date(text)
  const time = date.getTime()
  if (!ISO_DATE.test(text) || Number.isNaN(time) || !isInCalendar(text)) {
    throw new InvalidArgumentError(
      'It must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z.',
    )
  }
  if (time > Date.now()) throw new InvalidArgumentError('It lies in the future.')
  return date
}

/** JavaScript takes the 31st of February for one of March. */
function isInCalendar(text: string): boolean {
  const day = text.slice(0, 10)
  return new Date(day).toISOString().startsWith(day)
}
