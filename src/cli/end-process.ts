import type { ExitCode } from './exit.js'

/** Ends the process once its output has reached the readers, or they have closed their pipes. */
export async function endProcess(exitCode: ExitCode): Promise<never> {
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit(exitCode)
}

/** Resolves after all earlier writes, failed ones included. `process.exit()` would drop what a slow reader hasn't read yet. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write('', () => resolve()))
}
