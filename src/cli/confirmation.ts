import { createInterface } from 'node:readline'
import { UsageError } from './exit.js'

/** @throws UsageError if the command would ask, and nobody can answer. */
export function requireTerminalOrYes(command: string, { yes = false }: { readonly yes?: boolean }): void {
  if (yes || process.stdin.isTTY) return
  throw new UsageError(
    `${command} asks for confirmation, but stdin is not a terminal.`,
    'Pass --yes to skip the confirmation.',
  )
}

/** Asks on stderr, because stdout is for results. Only `y` and `yes` confirm. */
export async function isConfirmed(question: string): Promise<boolean> {
  // With `terminal: true`, Ctrl+C would be a key press instead of a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(false))
      lines.question(`${question} [y/N] `, (reply) => resolve(/^y(?:es)?$/i.test(reply.trim())))
    })
  } finally {
    lines.close()
  }
}
