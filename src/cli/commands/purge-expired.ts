import type { StorageObject } from '../../index.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'
import type { Item } from '../output/output.js'
import { printable } from '../output/printable.js'
import { bytes, count, counted } from '../output/units.js'
import { agrees } from '../question.js'
import type { Session } from '../session.js'
import { inSteps, type Step } from '../steps.js'
import { WrongCall } from '../wrong-call.js'

const COUNTED_AT_ONCE = 1000
/** Few enough that ctrl-C is soon obeyed. */
const DROPPED_AT_ONCE = 200

export function addPurgeExpired(cli: Cli): void {
  cli
    .command(
      'purge-expired',
      'Drops the reservations that have lapsed, after asking. An upload among them that did finish is lost to its ' +
        'owner, where the cleanUp of the application would confirm it: prefer that where it can run.',
    )
    .option('-y, --yes', 'do not ask')
    .action(({ yes = false }: { readonly yes?: boolean }) =>
      cli.withDatabase(async (session) => {
        const { output, database } = session
        if (!yes && !process.stdin.isTTY) {
          throw new WrongCall(
            'purge-expired asks before it drops anything, and nobody is there to answer.',
            'Give --yes if you mean it.',
          )
        }
        // What lapses while this runs is for the next time, so that a run has an end.
        const before = new Date()
        const lapsed = await countLapsed(session, before)
        if (lapsed.rows === 0) {
          output.note('No reservation has lapsed.')
          return EXIT.ok
        }
        const what = `${counted(lapsed.rows, 'lapsed reservation')} (${bytes(lapsed.bytes)} announced)`
        const question =
          `Drop ${what} from ${database.shown}?\n` +
          'Uploads among them that finished and were never confirmed are lost to their owners.'
        if (!yes && !(await agrees(question))) {
          output.note('Nothing was dropped.')
          return EXIT.ok
        }
        const told = (done: number, complete: boolean) =>
          complete
            ? `Dropped ${counted(done, 'lapsed reservation')}.`
            : `Dropped ${count(done)} of ${counted(lapsed.rows, 'lapsed reservation')}; the others are as they were.`
        await inSteps(session, { total: lapsed.rows, told }, purge(session, before))
        return EXIT.ok
      }),
    )
}

async function countLapsed({ store }: Session, before: Date): Promise<{ rows: number; bytes: number }> {
  let rows = 0
  let announced = 0
  let after: StorageObject | null = null
  for (;;) {
    const page: readonly StorageObject[] = await store.listExpired({ before, limit: COUNTED_AT_ONCE, after })
    after = page.at(-1) ?? null
    if (after === null) return { rows, bytes: announced }
    rows += page.length
    announced += page.reduce((sum, { declaredSize }) => sum + (declaredSize ?? 0), 0)
  }
}

async function* purge({ store }: Session, before: Date): AsyncGenerator<Step, void> {
  for (;;) {
    const dropped = await store.purgeExpired({ before, limit: DROPPED_AT_ONCE })
    if (dropped.length === 0) return
    yield { done: dropped.length, items: dropped.map(itemOf) }
  }
}

function itemOf(row: StorageObject): Item {
  const { scope, bucket, key, expiresAt } = row
  const text = `lapsed ${expiresAt?.toISOString()}  ${printable(scope)}  ${printable(`${bucket}/${key}`)}`
  return { json: row, text }
}
