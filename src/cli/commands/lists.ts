import { Option, type Command } from 'commander'
import type {
  EventCounts,
  Leftover,
  ListedEvent,
  ObjectStatus,
  ScopeSummary,
  StorageObject,
} from '../../index.js'
import { printable } from '../../core/printable.js'
import { positiveInteger, type Cli } from '../cli.js'
import { bytes, count, counted } from '../format.js'
import type { Item } from '../output.js'
import { list } from '../session.js'

const withLimit = (command: Command, what: string): Command =>
  command.option('--limit <number>', `maximum number of ${what} (default: all)`, positiveInteger)

const STATUSES: readonly ObjectStatus[] = ['pending', 'active', 'deleted']

interface ListOptions {
  readonly status?: ObjectStatus
  readonly route?: string
  readonly limit?: number
}

export function addList(cli: Cli): void {
  const command = cli
    .command('list', 'Lists the objects of a scope, newest first.')
    .argument('<scope>', 'owner, such as user:42')
    .addOption(
      new Option('--status <status>', 'only objects with this status (default: pending and active)').choices(
        STATUSES,
      ),
    )
    .option('--route <name>', 'only objects of this upload route')
  withLimit(command, 'objects').action((scope: string, { status, route, limit }: ListOptions) =>
    cli.withDatabase(async (session) => {
      const { store } = session
      const total = route === undefined ? await store.countByScope(scope, status) : null
      const listing = { noun: 'object', total, limit }
      await list(session, listing, objectItem, async (limit, after: string | null) => {
        const page = await store.listByScope({ scope, status, route, limit, cursor: after })
        return { rows: page.objects, next: page.nextCursor ?? null }
      })
    }),
  )
}

function objectItem(object: StorageObject): Item {
  const { status, createdAt, bucket, key, filename } = object
  const size = object.size ?? object.declaredSize
  return itemOf(
    object,
    status.padEnd(7),
    (size === null ? '' : bytes(size)).padStart(10),
    createdAt.toISOString(),
    printable(`${bucket}/${key}`) + (filename === null ? '' : `  ${printable(JSON.stringify(filename))}`),
  )
}

export function addScopes(cli: Cli): void {
  const command = cli
    .command('scopes', 'Lists the scopes with their usage and number of rows, in byte order.')
    .option('--after <scope>', 'only scopes after this one')
  withLimit(command, 'scopes').action(
    ({ after, limit }: { readonly after?: string; readonly limit?: number }) =>
      cli.withDatabase(async (session) => {
        const listing = { noun: 'scope', limit, after }
        await list(session, listing, scopeItem, async (limit, after: string | null) => {
          const rows = await session.store.listScopes({ limit, after })
          const last = rows.at(-1)
          return last ? { rows, next: last.scope } : null
        })
      }),
  )
}

function scopeItem(summary: ScopeSummary): Item {
  const { scope, usage, counts } = summary
  return itemOf(
    summary,
    bytes(usage.bytes).padStart(10),
    `${counts.active} active`,
    `${counts.pending} pending`,
    `${counts.deleted} deleted`,
    printable(scope),
  )
}

export function addLeftovers(cli: Cli): void {
  const command = cli.command(
    'leftovers',
    'Lists keys and multipart uploads that the bucket may still hold without a row, oldest first. ' +
      'The cleanUp job of the application deletes them. Old entries mean that it does not run.',
  )
  withLimit(command, 'entries').action(({ limit }: { readonly limit?: number }) =>
    cli.withDatabase(async (session) => {
      const listing = { noun: 'leftover', limit }
      await list(session, listing, leftoverItem, async (limit, after: Leftover | null) => {
        const rows = await session.store.listLeftovers({ limit, after })
        const last = rows.at(-1)
        return last ? { rows, next: last } : null
      })
    }),
  )
}

function leftoverItem(leftover: Leftover): Item {
  const { since, writableUntil, bucket, key, storageKey, uploadId } = leftover
  return itemOf(
    leftover,
    since.toISOString(),
    `writable until ${writableUntil.toISOString()}`,
    printable(`${bucket}/${storageKey ?? key}`),
    ...(uploadId === null ? [] : [`multipart upload ${printable(uploadId)}`]),
  )
}

export function addEvents(cli: Cli): void {
  const command = cli.command(
    'events',
    'Counts and lists the events that are not settled yet, roughly in the order of recording. ' +
      'Old entries mean that nothing delivers them, or that a handler fails again and again.',
  )
  withLimit(command, 'events to list').action(({ limit }: { readonly limit?: number }) =>
    cli.withDatabase(async (session) => {
      const counts = await session.store.countEvents()
      await session.output.items([countsItem(counts)])
      const listing = { noun: 'event', total: counts.waiting + counts.claimed + counts.retrying, limit }
      await list(session, listing, eventItem, async (limit, after: string | null) => {
        const { items, next } = await session.store.listEvents({ limit, after })
        return { rows: items, next }
      })
    }),
  )
}

function countsItem(counts: EventCounts): Item {
  const { waiting, claimed, retrying } = counts
  const text = `${count(waiting)} waiting, ${count(claimed)} claimed, ${count(retrying)} retrying`
  return { json: counts, text }
}

function eventItem(event: ListedEvent): Item {
  const { type, object, createdAt, dueAt, attempts } = event
  return itemOf(
    event,
    createdAt.toISOString(),
    type.padEnd(11),
    `due ${dueAt.toISOString()}`,
    counted(attempts, 'attempt'),
    printable(`${object.bucket}/${object.key}`),
  )
}

function itemOf(json: object, ...columns: readonly string[]): Item {
  return { json, text: columns.join('  ') }
}
