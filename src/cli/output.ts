import { count } from './format.js'

/** One item of the result, in both output formats. */
export interface Item {
  readonly json: object
  /** `null`: the text output has a note instead. */
  readonly text: string | null
}

export type Output = ReturnType<typeof createOutput>

/** Writes results to stdout, and everything else, such as progress and errors, to stderr. */
export function createOutput(
  { stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>,
  { json }: { readonly json: boolean },
  onReaderGone: () => void,
) {
  let isClosed = false

  async function write(text: string): Promise<void> {
    if (isClosed || text === '') return
    const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      stdout.write(text, resolve)
    })
    if (!failure) return
    isClosed = true
    if (failure.code !== 'EPIPE') throw new Error('Could not write to stdout.', { cause: failure })
    onReaderGone()
  }
  let bar = NO_PROGRESS
  const textOf = (item: Item) => (json ? JSON.stringify(item.json) : item.text)
  const say = (line: string) => void stderr.write(`${line}\n`)
  const sayJson = (line: object) => say(JSON.stringify(line))

  return {
    /** Writes items, and waits for a slow reader. */
    items(items: readonly Item[]): Promise<void> {
      // Both streams share the terminal. The next step redraws the bar below the items.
      if (stdout.isTTY) bar.end()
      const texts = items.map(textOf).filter((text) => text !== null)
      return write(texts.map((text) => `${text}\n`).join(''))
    },
    /** Writes text unchanged in both formats. */
    raw: write,
    note: (message: string) => (json ? sayJson({ message }) : say(message)),
    /** Says what a job did. The JSON output has a result with the same numbers instead. */
    summary: (message: string) => (json ? undefined : say(message)),
    error: (message: string, hints: readonly string[]) =>
      json ? sayJson({ error: { message, hints } }) : say([`svc-db: ${message}`, ...hints].join('\n  ')),
    progress(total: number | null): Progress {
      if (json) return progressLines(sayJson, total)
      if (!stderr.isTTY) return NO_PROGRESS
      return (bar = progressBar((text) => void stderr.write(text), total))
    },
  }
}

export interface Progress {
  /** `done`: items processed so far. `after`: where a later run can go on. */
  advance(done: number, after?: string): void
  /** Clears the line for other output. */
  end(): void
}

const WIDTH = 24
const CLEAR_LINE = '\r\u001b[2K'

/** Draws a bar on a terminal; without a total, a counter. */
function progressBar(write: (text: string) => void, total: number | null): Progress {
  return {
    advance(done) {
      const share = total === null || total === 0 ? null : Math.min(1, done / total)
      if (share === null) return write(`${CLEAR_LINE}${count(done)}`)
      const filled = Math.round(share * WIDTH)
      const bar = '#'.repeat(filled).padEnd(WIDTH, '.')
      write(`${CLEAR_LINE}[${bar}] ${Math.floor(share * 100)} %, ${count(done)} of ${count(total!)}`)
    },
    end() {
      write(CLEAR_LINE)
    },
  }
}

function progressLines(write: (line: object) => void, total: number | null): Progress {
  return {
    advance: (done, after) =>
      write({ progress: { done, ...(total !== null && { total }), ...(after !== undefined && { after }) } }),
    end: () => undefined,
  }
}

const NO_PROGRESS: Progress = { advance: () => undefined, end: () => undefined }
