import { count } from './format.js'

/** Shows the progress of long work. */
export interface Progress {
  /** `done`: items processed so far. `after`: where a later run can go on. */
  advance(done: number, after?: string): void
  /** Clears the line for other output. */
  end(): void
}

const WIDTH = 24
const CLEAR_LINE = '\r\u001b[2K'

/** Draws a bar on a terminal; without a total, a counter. */
export function progressBar(write: (text: string) => void, total: number | null): Progress {
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

/** Writes a JSON line per step. */
export function progressLines(write: (line: object) => void, total: number | null): Progress {
  return {
    advance: (done, after) =>
      write({ progress: { done, ...(total !== null && { total }), ...(after !== undefined && { after }) } }),
    end: () => undefined,
  }
}

export const NO_PROGRESS: Progress = { advance: () => undefined, end: () => undefined }
