import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { NumberMark } from '../../../../src/adapters/postgres/number-mark.js'

const FULL_LOOK_EVERY = 60_000
const MINUTE = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Row {
  readonly number: bigint
  readonly drawnAt: number
  readonly takes: number
}

/** A table whose rows are numbered by a sequence. A transaction draws a number first, and commits its row later. */
class Table {
  readonly rows = new Set<Row>()
  drawn = 0n

  draw(takes: number): Row {
    return { number: ++this.drawn, drawnAt: performance.now(), takes }
  }

  after(number: bigint): Row[] {
    return [...this.rows].filter((row) => row.number > number).sort((a, b) => Number(a.number - b.number))
  }
}

function look(mark: NumberMark, table: Table, starts: bigint[] = []): Promise<Row[]> {
  return mark.look(async (after, readsDrawn) => {
    starts.push(after)
    const result = table.after(after)
    return { result, first: result[0]?.number ?? null, drawn: readsDrawn ? table.drawn : null }
  })
}

const seconds = (max: number) => fc.integer({ min: 0, max }).map((value) => value * 1000)
const rows = fc.array(
  fc.record({
    begin: seconds(300),
    takes: fc.oneof(seconds(60), seconds(200)),
    lives: fc.oneof(seconds(20), seconds(200)),
  }),
  { minLength: 1, maxLength: 8 },
)
const looks = fc.array(seconds(400), { minLength: 20, maxLength: 40 })
const happensOnce = fc.option(seconds(400))

it('finds what commits within a minute at once, and all others within a minute', async () => {
  await fc.assert(
    fc.asyncProperty(rows, looks, happensOnce, happensOnce, async (planned, looked, restart, move) => {
      const table = new Table()
      let mark = new NumberMark(FULL_LOOK_EVERY)
      const begin = performance.now()
      const steps: { at: number; run: () => unknown }[] = looked.map((at) => ({ at, run: check }))
      for (const { begin: at, takes, lives } of planned) {
        let row: Row | null = null
        steps.push({ at, run: () => (row = table.draw(takes)) })
        steps.push({ at: at + takes, run: () => table.rows.add(row!) })
        steps.push({ at: at + takes + lives, run: () => table.rows.delete(row!) })
      }
      if (restart !== null) steps.push({ at: restart, run: () => (mark = new NumberMark(FULL_LOOK_EVERY)) })
      // To a server where the sequence begins again.
      if (move !== null) steps.push({ at: move, run: () => (table.drawn = 0n) })

      for (const { at, run } of steps.sort((a, b) => a.at - b.at)) {
        vi.advanceTimersByTime(begin + at - performance.now())
        await run()
      }

      async function check(): Promise<void> {
        const found = await look(mark, table)
        const now = performance.now()
        const isMoved = move !== null && now - begin >= move
        const certain = table
          .after(0n)
          .filter(
            ({ drawnAt, takes }) => drawnAt + takes <= now - FULL_LOOK_EVERY || (!isMoved && takes <= MINUTE),
          )
        expect(found).toEqual(expect.arrayContaining(certain))
      }
    }),
    { numRuns: 300 },
  )
})

it('finds a row whose transaction took longer than a minute within another minute', async () => {
  const [mark, table] = [new NumberMark(FULL_LOOK_EVERY), new Table()]
  const row = table.draw(MINUTE)
  await look(mark, table)
  vi.advanceTimersByTime(MINUTE)
  await look(mark, table)
  table.rows.add(row)
  expect(await look(mark, table)).toEqual([])
  vi.advanceTimersByTime(MINUTE)
  expect(await look(mark, table)).toHaveLength(1)
})

it('starts after what had been drawn a minute before, or before the first row, and once a minute at the beginning', async () => {
  const [mark, table, starts] = [new NumberMark(FULL_LOOK_EVERY), new Table(), [] as bigint[]]
  table.drawn = 100n
  await look(mark, table, starts)
  vi.advanceTimersByTime(MINUTE)
  table.drawn = 200n
  await look(mark, table, starts)
  await look(mark, table, starts)
  table.rows.add({ number: 70n, drawnAt: 0, takes: 0 })
  mark.reset()
  await look(mark, table, starts)
  vi.advanceTimersByTime(MINUTE)
  await look(mark, table, starts)
  await look(mark, table, starts)
  expect(starts).toEqual([0n, 0n, 100n, 0n, 0n, 69n])
})

it('forgets what a look finds out that was in progress at a reset', async () => {
  const [mark, table, starts] = [new NumberMark(FULL_LOOK_EVERY), new Table(), [] as bigint[]]
  table.drawn = 100n
  await look(mark, table)
  vi.advanceTimersByTime(MINUTE)
  await mark.look(async () => {
    mark.reset()
    return { result: null, first: null, drawn: 100n }
  })
  await look(mark, table, starts)
  expect(starts).toEqual([0n])
})

it('starts at the beginning if the last number is unknown', async () => {
  const mark = new NumberMark(FULL_LOOK_EVERY)
  const starts: bigint[] = []
  for (let looks = 0; looks < 3; looks++) {
    await mark.look(async (after) => {
      starts.push(after)
      return { result: null, first: null, drawn: null }
    })
    vi.advanceTimersByTime(MINUTE / 2)
  }
  expect(starts).toEqual([0n, 0n, 0n])
})
