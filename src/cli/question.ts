import { createInterface } from 'node:readline'

/** Asks a person on the terminal; only `y` and `yes` are a yes. The answer stays off the standard output, which is for data. */
export async function agrees(question: string): Promise<boolean> {
  // Not a terminal of its own: so ctrl-C stays a signal, as everywhere else in the command.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(false))
      lines.question(`${question} [y/N] `, (answer) => resolve(/^y(?:es)?$/i.test(answer.trim())))
    })
  } finally {
    lines.close()
  }
}
