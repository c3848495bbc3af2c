import { InvalidArgumentError } from 'commander'
import type { StorageObject } from '../../index.js'
import { PAGE_SIZE, pagesOf } from '../../server/jobs/pages.js'
import { printable } from '../../core/printable.js'
import type { Cli } from '../cli.js'
import { isConfirmed, requireTerminalOrYes } from '../confirmation.js'
import { bytes, count, counted } from '../format.js'
import type { Item } from '../output.js'
import { inSteps, type Session, type Step } from '../session.js'

/** Small, because Ctrl+C waits for the end of a batch. */
const EXPIRED_BATCH = 200

export function addPurgeExpired(cli: Cli): void {
  cli
    .command(
      'purge-expired',
      'Purges expired reservations after confirmation. An upload that finished without being confirmed is lost. ' +
        'Prefer the cleanUp job of the application, which confirms such uploads.',
    )
    .option('-y, --yes', 'skip the confirmation')
    .action(({ yes = false }: { readonly yes?: boolean }) =>
      cli.withDatabase(async (session) => {
        const { output, database } = session
        requireTerminalOrYes('purge-expired', { yes })
        // Leaves reservations that expire during the run to the next one. Otherwise a run might never end.
        const before = new Date()
        const expired = await countExpired(session, before)
        if (expired.rows === 0) {
          output.note('No reservation has expired.')
          return
        }
        const what = `${counted(expired.rows, 'expired reservation')} (${bytes(expired.bytes)} declared)`
        const question =
          `Purge ${what} from ${database.shown}?\n` +
          'Uploads among them that finished without being confirmed are lost.'
        if (!yes && !(await isConfirmed(question))) {
          output.note('Nothing was purged.')
          return
        }
        const summary = (done: number, complete: boolean) => {
          if (done >= expired.rows) return `Purged ${counted(done, 'expired reservation')}.`
          const rest = complete ? 'are in use, or have changed meanwhile' : 'are unchanged'
          return `Purged ${count(done)} of ${counted(expired.rows, 'expired reservation')}; the others ${rest}.`
        }
        await inSteps(session, { total: expired.rows, summary }, purgeExpired(session, before))
      }),
    )
}

async function countExpired({ store }: Session, before: Date): Promise<{ rows: number; bytes: number }> {
  let rows = 0
  let bytes = 0
  for await (const page of pagesOf<StorageObject>((after) =>
    store.listExpired({ before, limit: PAGE_SIZE, after }),
  )) {
    rows += page.length
    bytes += page.reduce((sum, { declaredSize }) => sum + (declaredSize ?? 0), 0)
  }
  return { rows, bytes }
}

async function* purgeExpired({ store }: Session, before: Date): AsyncGenerator<Step, void> {
  for (;;) {
    const purged = await store.purgeExpired({ before, limit: EXPIRED_BATCH })
    if (purged.length === 0) return
    yield { done: purged.length, items: purged.map(itemOf) }
  }
}

function itemOf(row: StorageObject): Item {
  const { scope, bucket, key, expiresAt } = row
  const text = `expired ${expiresAt?.toISOString()}  ${printable(scope)}  ${printable(`${bucket}/${key}`)}`
  return { json: row, text }
}

export function addPurgeDeleted(cli: Cli): void {
  cli
    .command('purge-deleted', 'Purges the history of objects that were deleted up to a date.')
    .requiredOption(
      '--before <date>',
      'date or time, such as 2026-01-31 (UTC) or 2026-01-31T12:00:00Z (required)',
      pastDate,
    )
    .action(({ before }: { readonly before: Date }) =>
      cli.withDatabase(async (session) => {
        const summary = (done: number, complete: boolean) =>
          `Purged ${counted(done, 'row')} of history${complete ? '' : '; the others are unchanged'}.`
        const dropped = await inSteps(session, { total: null, summary }, purgeDeleted(session, before))
        await session.output.items([{ json: { dropped, before }, text: null }])
      }),
    )
}

async function* purgeDeleted({ store }: Session, before: Date): AsyncGenerator<Step, void> {
  for (;;) {
    const dropped = await store.purgeDeleted({ before, limit: PAGE_SIZE })
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
