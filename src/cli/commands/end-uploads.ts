import { printable } from '../../core/printable.js'
import { checkText } from '../../core/store/validation/checks.js'
import { ENDINGS_AT_ONCE, runEndUploads } from '../../server/jobs/end-uploads.js'
import { withBucket, withWriteOptions, type WriteOptions } from '../bucket.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { counted } from '../format.js'
import { REPEAT, runJob } from '../session.js'

export function addEndUploads(cli: Cli): void {
  withWriteOptions(
    cli.command(
      'end-uploads',
      'Ends all uploads that a scope has begun, and removes their parts from the bucket. Exits with 1 if one of them failed.',
    ),
  )
    .argument('<scope>', 'owner, such as user:42')
    .action((scope: string, options: WriteOptions) =>
      cli.withDatabase(
        async (session) => {
          const { store } = session
          checkText('scope', scope)
          const total = await store.countByScope(scope, 'pending')
          const { failures } = await withBucket(store, options, (context) =>
            runJob(session, (job) => runEndUploads(context, { ...job, scope }), {
              total,
              summary: ({ ended }) => `Ended ${counted(ended, 'upload')} of ${printable(scope)}.`,
              resume: () => REPEAT,
            }),
          )
          return failures > 0 ? EXIT.found : EXIT.ok
        },
        { connections: ENDINGS_AT_ONCE },
      ),
    )
}
