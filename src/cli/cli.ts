import { Command, InvalidArgumentError, Option, type OutputConfiguration } from 'commander'
import { findDatabase, type DatabaseOptions, type FoundDatabase } from './databases/find-database.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { reportOf } from './failure-report.js'
import { Interrupted, listenForInterruption } from './interruption.js'
import { createOutput, type Output } from './output/output.js'
import type { Session } from './session.js'
import { VERSION } from './version.js'

/** What commands are added to. */
export interface Cli {
  command(name: string, summary: string): Command
  /** Runs work that needs no database. */
  run(work: (output: Output, options: DatabaseOptions) => Promise<ExitCode>): Promise<void>
  /** Runs work on the database that the call names, and closes it. */
  withDatabase(work: (session: Session) => Promise<ExitCode>): Promise<void>
}

interface GlobalOptions extends DatabaseOptions {
  readonly json?: true
  readonly connectTimeout: number
}

const HELP_HINT = 'Help: svc-db --help'

const EXIT_CODES = `
Exit codes:
  0  all is well
  1  verify or check-usage found something
  2  the call is wrong
  3  the database could not be reached, or can't serve as it is
  4  something unexpected went wrong
  130, 143  ended by ctrl-C or SIGTERM`

/** Runs the command line; resolves to the exit code. */
export async function runCli(
  args: readonly string[],
  addCommands: readonly ((cli: Cli) => void)[],
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = new Command('svc-db')
    .description('Looks after the database of @svc/db: its schema, its usage counters and its history.')
    .version(VERSION)
    .option('--url <url>', 'the database: postgres://…, mongodb://… (default: DATABASE_URL, MONGODB_URL)')
    .option('--schema <name>', 'the schema of the tables in PostgreSQL (default: svc_db)')
    .option('--prefix <prefix>', 'the prefix of the collections in MongoDB (default: svc_db_)')
    .addOption(
      new Option('--connect-timeout <seconds>', 'how long to wait for the server')
        .default(10)
        .argParser(seconds),
    )
    .option('--json', 'answers as lines of JSON, one an item; notes and errors too, on the standard error')
    .helpCommand('help [command]', 'explains a command')
    .helpOption('-h, --help', 'explains the command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(errorsOf(args))
    .showHelpAfterError(HELP_HINT)
    .addHelpText('after', EXIT_CODES)
    .exitOverride()

  async function run(
    work: (surroundings: Omit<Session, 'store' | 'database'>, options: GlobalOptions) => Promise<ExitCode>,
    databaseOf: () => FoundDatabase | null = () => null,
  ): Promise<void> {
    const options = program.opts<GlobalOptions>()
    const interruption = listenForInterruption((message) => output.note(message))
    const output = createOutput(process, { json: options.json ?? false }, () => interruption.readerHasGone())
    // Of a driver, say, which Node would write as it pleases, between lines of JSON too.
    process.removeAllListeners('warning').on('warning', ({ message }) => output.note(message))
    try {
      exitCode = await work({ output, interruption }, options)
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
    withDatabase(work) {
      let database: FoundDatabase | null = null
      return run(
        async (surroundings, options) => {
          database = findDatabase(options, process.env)
          const { kind, url, place } = database
          const connectTimeoutMs = options.connectTimeout * 1000
          const opened = await kind.open({ url: url.text, place, connectTimeoutMs })
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
    // Help and version end the same way as a wrong call does; only a wrong call has an exit code.
    const { code, exitCode: wanted } = error as { code?: unknown; exitCode?: unknown }
    if (typeof code !== 'string' || !code.startsWith('commander.')) throw error
    return wanted === 0 ? EXIT.ok : EXIT.wrongCall
  }
  return exitCode
}

/** How the parser tells of a wrong call: in lines, or where the call asks for JSON in one of these. */
function errorsOf(args: readonly string[]): OutputConfiguration {
  const told = (text: string) => withoutURLs(text, args).replace(/^error: /, '')
  if (!args.includes('--json')) return { outputError: (text, write) => write(`svc-db: ${told(text)}`) }
  const tell = (message: string, ...hints: readonly string[]) =>
    void process.stderr.write(`${JSON.stringify({ error: { message, hints: [...hints, HELP_HINT] } })}\n`)
  return {
    outputError(text) {
      const [message = '', ...hints] = told(text).trimEnd().split('\n')
      tell(message, ...hints)
    },
    writeErr(text) {
      // The whole help, for a call without a command. What else comes here is after an error, which has it already.
      if (text.startsWith('Usage:')) tell('The call names no command, or one that there is not.')
    },
  }
}

/** An operator who misplaces a URL must not find its password in a log, also where it isn't quite a URL. */
function withoutURLs(text: string, args: readonly string[]): string {
  return args
    .filter((argument) => /:\/\/|:.*@/.test(argument))
    .flatMap((argument) => [argument, argument.slice(argument.indexOf('=') + 1)])
    .filter((secret) => secret !== '')
    .reduce((rest, argument) => rest.replaceAll(argument, '***'), text)
}

function firstSentence(text: string): string {
  return text.split('. ', 1)[0]!.replace(/\.$/, '')
}

function seconds(text: string): number {
  const value = Number(text)
  if (!/^\d+(?:\.\d+)?$/.test(text) || value <= 0 || value > 3600) {
    throw new InvalidArgumentError('It must be a number of seconds, at most 3600.')
  }
  return value
}

/** Reads an option that is a whole number. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}
