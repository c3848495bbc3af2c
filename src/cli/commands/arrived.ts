import { StorageError, type StorageObject } from '../../index.js'
import { isAttemptId } from '../../core/store/attempt-id.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT, UsageError, type ExitCode } from '../exit.js'
import { bytes } from '../format.js'
import type { Item } from '../output.js'
import { list, type Session } from '../session.js'

interface ArrivedOptions {
  readonly scope?: string
  readonly limit?: number
  readonly reject?: string
  readonly reason?: string
}

export function addArrived(cli: Cli): void {
  cli
    .command(
      'arrived',
      'Lists uploads whose bytes wait for their check, those whose time is over first. Old entries mean that nothing checks them. ' +
        'With --reject, exits with 1 if there is no such upload.',
    )
    .option('--scope <scope>', 'only uploads of this scope')
    .option('--limit <number>', 'maximum number of uploads (default: all)', positiveInteger)
    .option('--reject <id>', 'reject the upload with this id, instead of listing. cleanUp removes its bytes')
    .option('--reason <text>', 'why it is rejected, for its owner (default: none)')
    .action((options: ArrivedOptions) => {
      const { reject: id } = options
      const misuse = misuseOf(options)
      if (misuse !== null) return cli.run(() => Promise.reject(new UsageError(misuse)))
      return cli.withDatabase((session) =>
        id === undefined ? listArrived(session, options) : reject(session, id, options),
      )
    })
}

/** Returns what is wrong with the options, if they are. */
function misuseOf({ reject: id, reason, limit }: ArrivedOptions): string | null {
  if (id === undefined) return reason === undefined ? null : '--reason needs --reject.'
  if (!isAttemptId(id)) return '--reject must be the id of an upload, as it is listed.'
  return limit === undefined ? null : "--limit can't be combined with --reject."
}

async function listArrived(session: Session, { scope, limit }: ArrivedOptions): Promise<ExitCode> {
  await list(session, { noun: 'upload', limit }, arrivedItem, async (limit, after: StorageObject | null) => {
    const rows = await session.store.listArrived({ scope, limit, after })
    const last = rows.at(-1)
    return last ? { rows, next: last } : null
  })
  return EXIT.ok
}

async function reject(
  { store, output }: Session,
  id: string,
  { scope, reason }: ArrivedOptions,
): Promise<ExitCode> {
  try {
    const found = await store.findById({ id, scope })
    if (found === null) throw new StorageError('OBJECT_NOT_FOUND')
    const { bucket, key } = found
    const row = await store.reject({ bucket, key, id, scope, reason })
    await output.items([{ json: row, text: null }])
    output.summary(`Rejected ${printable(`${bucket}/${key}`)} of ${printable(row.scope)}.`)
    return EXIT.ok
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND')) throw error
    output.note('There is no such upload, or it has been decided.')
    return EXIT.found
  }
}

function arrivedItem(row: StorageObject): Item {
  const { id, arrivedAt, expiresAt, size, scope, bucket, key } = row
  const columns = [
    id,
    `arrived ${arrivedAt?.toISOString()}`,
    `due ${expiresAt?.toISOString()}`,
    bytes(size ?? 0).padStart(10),
    printable(scope),
    printable(`${bucket}/${key}`),
  ]
  return { json: row, text: columns.join('  ') }
}
