import { ERASURES_AT_ONCE, runErasure } from '../../server/jobs/erase-scope.js'
import { bytesOf } from '../../server/storage.js'
import { printable } from '../../core/printable.js'
import { withBucket, withServiceOptions, type ServiceOptions } from '../bucket.js'
import { REPEAT, runJob } from '../session.js'
import type { Cli } from '../cli.js'
import { isConfirmed, requireTerminalOrYes } from '../confirmation.js'
import { EXIT } from '../exit.js'
import { bytes, counted } from '../format.js'

export function addErase(cli: Cli): void {
  withServiceOptions(
    cli.command(
      'erase',
      'Deletes everything that a scope has, in the database and in the bucket, after confirmation. ' +
        'Exits with 1 if something failed.',
    ),
  )
    .argument('<scope>', 'owner, such as user:42')
    .option('-y, --yes', 'skip the confirmation')
    .action((scope: string, options: ServiceOptions & { readonly yes?: boolean }) =>
      cli.withDatabase(
        async (session) => {
          const { output, store, database } = session
          requireTerminalOrYes('erase', options)
          const [active, pending, deleted, usage] = await Promise.all([
            store.countByScope(scope, 'active'),
            store.countByScope(scope, 'pending'),
            store.countByScope(scope, 'deleted'),
            store.getScopeUsage(scope),
          ])
          const question =
            `Erase ${printable(scope)} from ${database.shown}?\n` +
            `${counted(active, 'object')} (${bytes(usage.bytes)}), ${counted(pending, 'upload')} and ` +
            `${counted(deleted, 'row')} of history will be deleted, with all their bytes. This can't be undone.`
          if (!options.yes && !(await isConfirmed(question))) {
            output.note('Nothing was erased.')
            return EXIT.ok
          }
          const { failures } = await withBucket(store, options, async (context) => {
            // A bucket that can't be reached ends the command before it has removed the first row.
            const [first] = (await store.listByScope({ scope, limit: 1, fromPrimary: true })).objects
            if (first) await context.storage.head(bytesOf(first))
            return runJob(session, (job) => runErasure(context, { ...job, scope }), {
              summary: ({ objects, bytes: size, reservations, history }) =>
                `Erased ${counted(objects, 'object')} (${bytes(size)}), ` +
                `${counted(reservations, 'upload')} and ${counted(history, 'row')} of history.`,
              resume: () => REPEAT,
            })
          })
          return failures > 0 ? EXIT.found : EXIT.ok
        },
        { connections: ERASURES_AT_ONCE },
      ),
    )
}
