import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { bundleWorker } from '../races/bundled-worker.js'
import { describeOwnDatabase, freshSchema, poolOf } from './schemas.js'

const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 60)
/** A sixth of the time: ten minutes of an hour. */
const SNAPSHOT_SECONDS = MINUTES * 10
const WORKER = fileURLToPath(new URL('soak-worker.ts', import.meta.url))

interface Tenth {
  readonly heapUsed: number
  readonly rss: number
  readonly handles: number
  readonly dead: Readonly<Record<string, number>>
  readonly calls: Readonly<Record<string, number>>
}

describeOwnDatabase(`a process under a steady load for ${MINUTES} minutes`, (url) => {
  it(
    'holds no more at the end than at the beginning',
    async () => {
      const pool = poolOf(url)
      const schema = freshSchema()
      await postgresAdapter(pool, { schema, events: true }).migrate()
      const worker = await bundleWorker(WORKER, {
        '@svc/db/postgres': fileURLToPath(
          new URL('../../../src/adapters/postgres/index.ts', import.meta.url),
        ),
        '@svc/db': fileURLToPath(new URL('../../../src/index.ts', import.meta.url)),
      })
      const child = spawn(process.execPath, ['--expose-gc', worker.file, url, schema, String(MINUTES * 60)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(async () => {
        child.kill('SIGKILL')
        worker.remove()
        await pool.end()
      })
      const holding = holdSnapshot()
      const tenths: Tenth[] = []
      for await (const line of createInterface(child.stdout)) tenths.push(JSON.parse(line) as Tenth)
      if (child.exitCode === null) await once(child, 'exit')
      await holding
      expect(tenths).toHaveLength(10)
      print(tenths)
      expect(child.exitCode).toBe(0)
      // The first tenth compiles, and opens connections.
      const [early, late] = [tenths[1]!, tenths.at(-1)!]
      expect(late.heapUsed).toBeLessThanOrEqual(early.heapUsed * 1.2)
      // The pool opens connections as it needs them.
      const before = tenths.slice(0, 5).map(({ handles }) => handles)
      expect(late.handles).toBeLessThanOrEqual(Math.max(...before))

      /** Opens a snapshot in the middle of the run. */
      async function holdSnapshot(): Promise<void> {
        const client = await pool.connect()
        // Not with pg_sleep, which is a statement and has a snapshot itself.
        await setTimeout((MINUTES * 60_000 - SNAPSHOT_SECONDS * 1000) / 2)
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
        await client.query('SELECT pg_sleep($1)', [SNAPSHOT_SECONDS])
        await client.query('COMMIT')
        client.release()
      }
    },
    (MINUTES + 10) * 60_000,
  )
})

/** Prints each figure of every tenth, and that of the last one divided by that of the second. */
function print(tenths: readonly Tenth[]): void {
  const lines: Record<string, number[]> = {
    'heap, MB': tenths.map(({ heapUsed }) => heapUsed / 1e6),
    'RSS, MB': tenths.map(({ rss }) => rss / 1e6),
    'open handles': tenths.map(({ handles }) => handles),
  }
  for (const table of Object.keys(tenths[0]!.dead)) {
    lines[`dead rows of ${table}`] = tenths.map(({ dead }) => dead[table]!)
  }
  for (const call of Object.keys(tenths[0]!.calls)) {
    lines[`${call}, ms`] = tenths.map(({ calls }) => calls[call]!)
  }
  for (const [name, figures] of Object.entries(lines)) {
    const ratio = figures.at(-1)! / figures[1]!
    const shown = figures.map((figure) => figure.toFixed(1)).join('  ')
    console.log(`${name}: ${shown}; last ÷ second: ${ratio.toFixed(2)}`)
  }
}
