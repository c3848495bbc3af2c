import { postgresSchema } from '../../adapters/postgres/index.js'
import type { Cli } from '../cli.js'
import { byOptions } from '../databases/by-options.js'
import { EXIT } from '../exit-codes.js'
import { WrongCall } from '../wrong-call.js'

export function addSchema(cli: Cli): void {
  cli
    .command(
      'schema',
      'Prints as SQL what migrate does in PostgreSQL, for a migration tool of your own. Connects to nothing.',
    )
    .action(() =>
      cli.run(async (output, { schema, prefix }) => {
        if (prefix !== undefined)
          throw new WrongCall('--prefix is for MongoDB, which has no schema to print.')
        const sql = byOptions('schema', () => postgresSchema({ schema }))
        await output.raw(sql.endsWith('\n') ? sql : `${sql}\n`)
        return EXIT.ok
      }),
    )
}
