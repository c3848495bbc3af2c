import { Option } from 'commander'
import { postgresSchema } from '../../adapters/postgres/index.js'
import type { Cli } from '../cli.js'
import { withOption } from '../databases/database-kinds.js'
import { EXIT, UsageError } from '../exit.js'

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
          const { from, to } = await store.migrate({
            onProgress: ({ waitingFor }) => output.note(waitingFor),
          })
          const text =
            from === to
              ? `The schema is already at version ${to}.`
              : `Migrated the schema from version ${from} to version ${to}.`
          await output.items([{ json: { from, to }, text }])
          if (options.events) output.note(`Events are ${options.events}.`)
        },
        // The second connection finds out which session the first one waits for.
        { events: recordsEvents(options), connections: 2, mayCreate: true },
      ),
    )
}

export function addVerify(cli: Cli): void {
  cli
    .command(
      'verify',
      'Reports what is missing or different in the schema. Changes nothing. Exits with 1 if it finds problems.',
    )
    .action(() =>
      cli.withDatabase(async ({ store, output }) => {
        const findings = await store.verify()
        await output.items(findings.map((finding) => ({ json: { finding }, text: finding })))
        if (findings.length > 0) return EXIT.found
        output.note('No problems found.')
        return EXIT.ok
      }),
    )
}

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
          throw new UsageError('--prefix applies to MongoDB and SQLite, which have no SQL schema.')
        const sql = withOption('schema', () => postgresSchema({ schema, events: recordsEvents(options) }))
        await output.raw(sql.endsWith('\n') ? sql : `${sql}\n`)
      }),
    )
}

interface EventsOption {
  readonly events?: 'on' | 'off'
}

function eventsOption(): Option {
  const description = 'turns the recording of events on or off (default: as it is)'
  return new Option('--events <state>', description).choices(['on', 'off'])
}

function recordsEvents({ events }: EventsOption): boolean | undefined {
  return events === undefined ? undefined : events === 'on'
}
