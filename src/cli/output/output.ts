import type { WriteStream } from 'node:tty'
import { NO_PROGRESS, progressBar, progressLines, type Progress } from './progress.js'

/** One item of an answer: as a program reads it, and as a person does. */
export interface Item {
  readonly json: object
  /** `null`: a note tells a person. */
  readonly text: string | null
}

/** Answers go to the standard output; everything about them, such as progress and errors, to the standard error. */
export interface Output {
  /** Writes items, and waits where the reader is slow, so that none pile up here. */
  items(items: readonly Item[]): Promise<void>
  /** Text that stands as it is, whatever the form of the answers. */
  raw(text: string): Promise<void>
  /** Something to know beside the answer. */
  note(message: string): void
  error(message: string, hints: readonly string[]): void
  progress(total: number | null): Progress
}

interface Streams {
  readonly stdout: WriteStream
  readonly stderr: WriteStream
}

export function createOutput(
  { stdout, stderr }: Streams,
  { json }: { readonly json: boolean },
  onReaderGone: () => void,
): Output {
  let isClosed = false
  // Each write is told of its own failure.
  stdout.on('error', () => undefined)
  // Who can't be told can't be told that either.
  stderr.on('error', () => undefined)

  async function write(text: string): Promise<void> {
    if (isClosed || text === '') return
    const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      stdout.write(text, resolve)
    })
    if (!failure) return
    isClosed = true
    if (failure.code !== 'EPIPE') throw new Error('The answer could not be written.', { cause: failure })
    onReaderGone()
  }
  let bar = NO_PROGRESS
  const textOf = (item: Item) => (json ? JSON.stringify(item.json) : item.text)
  const say = (line: string) => void stderr.write(`${line}\n`)
  const sayJson = (line: object) => say(JSON.stringify(line))

  return {
    items(items) {
      // On a terminal the two streams share a line; the next step draws the bar again, below.
      if (stdout.isTTY) bar.end()
      const texts = items.map(textOf).filter((text) => text !== null)
      return write(texts.map((text) => `${text}\n`).join(''))
    },
    raw: write,
    note: (message) => (json ? sayJson({ message }) : say(message)),
    error: (message, hints) =>
      json ? sayJson({ error: { message, hints } }) : say([`svc-db: ${message}`, ...hints].join('\n  ')),
    progress(total) {
      if (json) return progressLines(sayJson, total)
      if (!stderr.isTTY) return NO_PROGRESS
      return (bar = progressBar((text) => void stderr.write(text), total))
    },
  }
}
