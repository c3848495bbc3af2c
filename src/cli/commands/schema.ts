import { postgresSchema } from '../../adapters/postgres/index.js'
import type { Cli } from '../cli.js'
import { withOption } from '../databases/database-kind.js'
import { eventsOption, recordsEvents, type EventsOption } from '../events-option.js'
import { EXIT, UsageError } from '../exit.js'

export function addSchema(cli: Cli): void {
  cli
    .command(
      'schema',
      'Prints the SQL that migrate runs on PostgreSQL, for your own migration tool. Does not connect to a database.',
    )
    .addOption(eventsOption())
    .action((options: EventsOption) =>
      cli.run(async (output, { schema, prefix }) => {
        if (prefix !== undefined)
          throw new UsageError('--prefix applies to MongoDB, which has no SQL schema.')
        const sql = withOption('schema', () => postgresSchema({ schema, events: recordsEvents(options) }))
        await output.raw(sql.endsWith('\n') ? sql : `${sql}\n`)
        return EXIT.ok
      }),
    )
}
