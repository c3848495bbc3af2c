import { Option } from 'commander'
import type { ObjectPage, ObjectStatus, StorageObject } from '../../index.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import type { Item } from '../output/output.js'
import { bytes, counted, printable } from '../output/format.js'
import { inSteps, type Session, type Step } from '../session.js'

const PAGE_SIZE = 1000
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
        const { status, route, limit = Number.MAX_SAFE_INTEGER } = options
        const count = route === undefined ? await store.countByScope(scope, status) : null
        const summary = (done: number, complete: boolean) =>
          `${complete ? '' : 'Stopped after '}${counted(done, 'object')}.`
        const total = count === null ? null : Math.min(count, limit)
        await inSteps(
          session,
          { total, readOnly: true, summary },
          pages(session, { scope, status, route, limit }),
        )
        return EXIT.ok
      }),
    )
}

interface Selection {
  readonly scope: string
  readonly status: ObjectStatus | undefined
  readonly route: string | undefined
  readonly limit: number
}

async function* pages({ store }: Session, { limit, ...selection }: Selection): AsyncGenerator<Step, void> {
  let cursor: string | undefined
  for (let left = limit; left > 0;) {
    const page: ObjectPage = await store.listByScope({
      ...selection,
      limit: Math.min(PAGE_SIZE, left),
      cursor,
    })
    yield { done: page.objects.length, items: page.objects.map(itemOf) }
    left -= page.objects.length
    cursor = page.nextCursor
    if (cursor === undefined) return
  }
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
