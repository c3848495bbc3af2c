import type { Cli } from '../cli.js'
import { EXIT } from '../exit-codes.js'

export function addMigrate(cli: Cli): void {
  cli
    .command(
      'migrate',
      'Creates or upgrades what the library needs in the database. Any number of processes may do so at once, and again.',
    )
    .action(() =>
      cli.withDatabase(async ({ store, output }) => {
        const { from, to } = await store.migrate()
        const text =
          from === to
            ? `The schema is at version ${to}; there was nothing to do.`
            : `The schema was at version ${from} and is now at ${to}.`
        await output.items([{ json: { from, to }, text }])
        return EXIT.ok
      }),
    )
}
