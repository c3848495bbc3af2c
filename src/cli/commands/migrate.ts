import type { Cli } from '../cli.js'
import { eventsOption, recordsEvents, type EventsOption } from '../events-option.js'
import { EXIT } from '../exit.js'

export function addMigrate(cli: Cli): void {
  cli
    .command(
      'migrate',
      'Creates or upgrades the schema. Safe to run again, and in several processes at once.',
    )
    .addOption(eventsOption())
    .action((options: EventsOption) =>
      cli.withDatabase(
        async ({ store, output }) => {
          const { from, to } = await store.migrate()
          const text =
            from === to
              ? `The schema is already at version ${to}.`
              : `Migrated the schema from version ${from} to version ${to}.`
          await output.items([{ json: { from, to }, text }])
          if (options.events) output.note(`Events are ${options.events}.`)
          return EXIT.ok
        },
        { events: recordsEvents(options) },
      ),
    )
}
