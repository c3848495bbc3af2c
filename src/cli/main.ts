import { runCli } from './cli.js'
import { COMMANDS } from './commands/all-commands.js'
import { endProcess } from './end-process.js'

// Output that fails is handled where it is written. Without a listener, help for a closed pipe would end with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

// Not only the exit code: what the module of `--map` keeps open, such as a database pool, would keep the process running.
await endProcess(await runCli(process.argv.slice(2), COMMANDS))
