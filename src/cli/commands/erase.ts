import { InvalidArgumentError } from 'commander'
import type { EraseScopeResult, StorageObjectStore } from '../../index.js'
import { ERASURES_AT_ONCE, runErasure } from '../../server/jobs/erase-scope.js'
import { printable } from '../../core/printable.js'
import { withBucket, withWriteOptions, type WriteOptions } from '../bucket.js'
import { REPEAT, runJob } from '../session.js'
import type { Cli } from '../cli.js'
import { isConfirmed, requireTerminalOrYes } from '../confirmation.js'
import { EXIT, UsageError } from '../exit.js'
import { bytes, counted } from '../format.js'
import { eraseScopesWith, holdingsOf, lookIntoBucket, type Holdings } from './erase-scopes.js'

interface EraseOptions extends WriteOptions {
  readonly scopePrefix?: string
  readonly yes?: boolean
}

export function addErase(cli: Cli): void {
  withWriteOptions(
    cli.command(
      'erase',
      'Deletes everything that a scope has, in the database and in the bucket, after confirmation. ' +
        'Exits with 1 if something failed.',
    ),
  )
    .argument('[scope]', 'owner, such as user:42')
    .option(
      '--scope-prefix <text>',
      'instead of a scope: all that start with this text, such as acme:',
      prefix,
    )
    .option('-y, --yes', 'skip the confirmation')
    .action((scope: string | undefined, options: EraseOptions) =>
      cli.withDatabase(
        async (session) => {
          const { output, store, database } = session
          const target = targetOf(scope, options)
          requireTerminalOrYes('erase', options)
          const held =
            'scope' in target ? await holdingOf(store, target.scope) : await holdingsOf(store, target.prefix)
          if (!held) {
            output.note(`No scope with the prefix ${printable(options.scopePrefix!)} holds anything.`)
            return EXIT.ok
          }
          const question = questionOf(target, held, database.shown)
          if (!options.yes && !(await isConfirmed(question))) {
            output.note('Nothing was erased.')
            return EXIT.ok
          }
          const { failures } = await withBucket(store, options, async (context) => {
            const resume = () => REPEAT
            if ('prefix' in target) {
              return runJob(session, (job) => eraseScopesWith(context, target.prefix, job), {
                summary: (result) => `Erased ${counted(result.scopes, 'scope')}: ${erased(result)}.`,
                resume,
              })
            }
            // A bucket that can't be reached ends the command before it has removed the first row.
            await lookIntoBucket(context, target.scope)
            return runJob(session, (job) => runErasure(context, { ...job, ...target }), {
              summary: (result) => `Erased ${erased(result)}.`,
              resume,
            })
          })
          return failures > 0 ? EXIT.found : EXIT.ok
        },
        { connections: ERASURES_AT_ONCE },
      ),
    )
}

type Target = { readonly scope: string } | { readonly prefix: string }

function targetOf(scope: string | undefined, { scopePrefix }: EraseOptions): Target {
  if (scope !== undefined && scopePrefix === undefined) return { scope }
  if (scope === undefined && scopePrefix !== undefined) return { prefix: scopePrefix }
  throw new UsageError('erase takes either a scope or --scope-prefix.')
}

function prefix(text: string): string {
  // A variable of a script that was never set.
  if (text === '') throw new InvalidArgumentError('Must not be empty.')
  return text
}

async function holdingOf(store: StorageObjectStore, scope: string): Promise<Holdings> {
  const [active, pending, deleted, { bytes }] = await Promise.all([
    store.countByScope(scope, 'active'),
    store.countByScope(scope, 'pending'),
    store.countByScope(scope, 'deleted'),
    store.getScopeUsage(scope),
  ])
  return { first: scope, last: scope, scopes: 1, active, pending, deleted, bytes }
}

/** Describes what will be erased. */
function questionOf(target: Target, held: Holdings, database: string): string {
  const { scopes, first, last, active, pending, deleted } = held
  const what =
    'scope' in target
      ? [`Erase ${printable(target.scope)} from ${database}?`]
      : [
          `Erase ${counted(scopes, 'scope')} with the prefix ${printable(target.prefix)} from ${database}?`,
          `The first is ${printable(first)}, the last is ${printable(last)}.`,
        ]
  const contents = `${counted(active, 'object')} (${bytes(held.bytes)}), ${counted(pending, 'upload')}`
  return [
    ...what,
    `${contents} and ${counted(deleted, 'row')} of history will be deleted, with all their bytes. This can't be undone.`,
  ].join('\n')
}

function erased({ objects, bytes: size, reservations, history }: EraseScopeResult): string {
  return (
    `${counted(objects, 'object')} (${bytes(size)}), ` +
    `${counted(reservations, 'upload')} and ${counted(history, 'row')} of history`
  )
}
