import { Command, InvalidArgumentError, Option, type OutputConfiguration } from 'commander'
import { MAX_CONCURRENCY } from '../server/jobs/job.js'
import type { OpenOptions } from './databases/database-kinds.js'
import { refuseMisplacedURL, withoutURLs } from './databases/database-url.js'
import { findDatabase, type DatabaseOptions, type FoundDatabase } from './databases/find-database.js'
import { EXIT, Interrupted, listenForInterruption, type ExitCode } from './exit.js'
import { reportOf, withoutSecrets } from './failure-report.js'
import { createOutput, type Output } from './output.js'
import type { Session } from './session.js'

// Defined by the build.
declare const SVC_DB_VERSION: string

/** The command line that commands register with. */
export interface Cli {
  command(name: string, summary: string): Command
  /** Runs work without a database. Without an exit code, it succeeded. */
  run(work: (output: Output, options: DatabaseOptions) => Promise<ExitCode | undefined>): Promise<void>
  /** Opens the selected database, runs work on it, and closes it. */
  withDatabase(
    work: (session: Session) => Promise<ExitCode | undefined>,
    options?: Pick<OpenOptions, 'events' | 'connections' | 'mayCreate'>,
  ): Promise<void>
}

interface GlobalOptions extends DatabaseOptions {
  readonly json?: true
  readonly connectTimeout: number
}

const HELP_HINT = 'Run svc-db --help for usage.'

const EXIT_CODES = `
Exit codes:
  0  success
  1  verify, doctor, check-usage or check-storage found problems, update or transfer found no object, or an item of a job failed
  2  invalid arguments, or the database driver or the AWS SDK is not installed
  3  the database or the bucket is unreachable
  4  unexpected error
  5  the database or the bucket can't be used until an operator acts
  130, 143  interrupted by Ctrl+C or SIGTERM`

export async function runCli(
  args: readonly string[],
  addCommands: readonly ((cli: Cli) => void)[],
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = new Command('svc-db')
    .description('Manages the database of @svc/db: its schema, usage counters and history.')
    .version(SVC_DB_VERSION)
    .option(
      '--url <url>',
      'database URL, postgres://…, mongodb://… or sqlite:./file (default: DATABASE_URL or MONGODB_URL)',
    )
    .option('--schema <name>', 'PostgreSQL schema of the tables (default: svc_db)')
    .option(
      '--prefix <prefix>',
      'prefix of the collections of MongoDB, or of the tables of SQLite (default: svc_db_)',
    )
    .addOption(
      new Option('--connect-timeout <seconds>', 'time limit for connecting to the server')
        .default(10)
        .argParser(seconds),
    )
    .option(
      '--json',
      'print results as JSON lines on stdout, and progress, notes and errors as JSON lines on stderr',
    )
    .helpCommand('help [command]', 'show the help of a command')
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(errorsOf(args))
    .showHelpAfterError(HELP_HINT)
    .addHelpText('after', EXIT_CODES)
    .exitOverride()

  async function run(
    work: (
      surroundings: Omit<Session, 'store' | 'database'>,
      options: GlobalOptions,
    ) => Promise<ExitCode | undefined>,
    databaseOf: () => FoundDatabase | null = () => null,
  ): Promise<void> {
    const options = program.opts<GlobalOptions>()
    const interruption = listenForInterruption((message) => output.note(message))
    const output = createOutput(process, { json: options.json ?? false }, () => interruption.readerHasGone())
    // By default, Node prints warnings (of drivers, for example) as text, even between JSON lines.
    process.removeAllListeners('warning').on('warning', ({ name, message }) => {
      // Node 22 prints this wherever node:sqlite is loaded.
      if (name === 'ExperimentalWarning' && message.startsWith('SQLite ')) return
      output.note(withoutSecrets(message, databaseOf()))
    })
    try {
      refuseMisplacedURL(args)
      exitCode = (await work({ output, interruption }, options)) ?? EXIT.ok
    } catch (error) {
      if (error instanceof Interrupted) {
        exitCode = error.exitCode
        return
      }
      const report = reportOf(error, databaseOf())
      output.error(report.message, report.hints)
      exitCode = report.exitCode
    }
  }

  const cli: Cli = {
    command: (name, summary) => program.command(name).description(summary).summary(firstSentence(summary)),
    run: (work) => run(({ output }, options) => work(output, options)),
    withDatabase(work, adapterOptions) {
      let database: FoundDatabase | null = null
      return run(
        async (surroundings, options) => {
          database = findDatabase(options, process.env)
          const { kind, url, namespace } = database
          const connectTimeoutMs = options.connectTimeout * 1000
          const opened = await kind.open({ ...adapterOptions, url: url.text, namespace, connectTimeoutMs })
          try {
            return await work({ ...surroundings, store: opened.store, database })
          } finally {
            await opened.close()
          }
        },
        () => database,
      )
    },
  }
  for (const add of addCommands) add(cli)

  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // The parser throws for help and version, too, with exit code 0.
    const { code, exitCode: wanted } = error as { code?: unknown; exitCode?: unknown }
    if (typeof code !== 'string' || !code.startsWith('commander.')) throw error
    return wanted === 0 ? EXIT.ok : EXIT.usage
  }
  return exitCode
}

/** Configures how the parser prints errors: as text, or with `--json` as a JSON line. */
function errorsOf(args: readonly string[]): OutputConfiguration {
  const messageOf = (text: string) => withoutURLs(text, args).replace(/^error: /, '')
  if (!args.includes('--json')) return { outputError: (text, write) => write(`svc-db: ${messageOf(text)}`) }
  const writeError = (message: string, ...hints: readonly string[]) =>
    void process.stderr.write(`${JSON.stringify({ error: { message, hints: [...hints, HELP_HINT] } })}\n`)
  return {
    outputError(text) {
      const [message = '', ...hints] = messageOf(text).trimEnd().split('\n')
      writeError(message, ...hints)
    },
    writeErr(text) {
      // Without a valid command, the parser prints the help instead of an error. Other output follows an error.
      if (text.startsWith('Usage:')) writeError('Missing or unknown command.')
    },
  }
}

function firstSentence(text: string): string {
  return text.split('. ', 1)[0]!.replace(/\.$/, '')
}

function seconds(text: string): number {
  const value = Number(text)
  if (!/^\d+(?:\.\d+)?$/.test(text) || value <= 0 || value > 3600) {
    throw new InvalidArgumentError('Must be a number of seconds greater than 0 and at most 3600.')
  }
  return value
}

export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Must be an integer of at least 1.')
  return Number(text)
}

/** Parses how many items of a job are in work at once. */
export function concurrencyOf(text: string): number {
  const value = positiveInteger(text)
  if (value > MAX_CONCURRENCY) {
    throw new InvalidArgumentError(`Must be an integer from 1 to ${MAX_CONCURRENCY}.`)
  }
  return value
}
