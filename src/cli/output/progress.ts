import { count } from './units.js'

/** How far long work has come. */
export interface Progress {
  /** Items that are done by now. */
  advance(done: number): void
  /** Makes room for what is said next. */
  end(): void
}

const WIDTH = 24
const CLEAR_LINE = '\r\u001b[2K'

/** A bar for whoever looks on. */
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

/** A line of JSON a step, for a program. */
export function progressLines(write: (line: object) => void, total: number | null): Progress {
  return {
    advance: (done) => write({ progress: { done, ...(total !== null && { total }) } }),
    end: () => undefined,
  }
}

export const NO_PROGRESS: Progress = { advance: () => undefined, end: () => undefined }
