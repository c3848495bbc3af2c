import { Option } from 'commander'
import type { ObjectStatus, StorageObject } from '../../index.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import type { Item } from '../output.js'
import { bytes } from '../format.js'
import { list } from '../session.js'

const STATUSES: readonly ObjectStatus[] = ['pending', 'active', 'deleted']

interface ListOptions {
  readonly status?: ObjectStatus
  readonly route?: string
  readonly limit?: number
}

export function addList(cli: Cli): void {
  cli
    .command('list', 'Lists the objects of a scope, newest first.')
    .argument('<scope>', 'owner, such as user:42')
    .addOption(
      new Option('--status <status>', 'only objects with this status (default: pending and active)').choices(
        STATUSES,
      ),
    )
    .option('--route <name>', 'only objects of this upload route')
    .option('--limit <number>', 'maximum number of objects (default: all)', positiveInteger)
    .action((scope: string, options: ListOptions) =>
      cli.withDatabase(async (session) => {
        const { store } = session
        const { status, route, limit } = options
        const total = route === undefined ? await store.countByScope(scope, status) : null
        await list(session, { noun: 'object', total, limit }, itemOf, async (limit, after: string | null) => {
          const page = await store.listByScope({ scope, status, route, limit, cursor: after })
          return { rows: page.objects, next: page.nextCursor ?? null }
        })
      }),
    )
}

function itemOf(object: StorageObject): Item {
  const { status, createdAt, bucket, key, filename } = object
  const size = object.size ?? object.declaredSize
  const columns = [
    status.padEnd(7),
    (size === null ? '' : bytes(size)).padStart(10),
    createdAt.toISOString(),
    printable(`${bucket}/${key}`) + (filename === null ? '' : `  ${printable(JSON.stringify(filename))}`),
  ]
  return { json: object, text: columns.join('  ') }
}
