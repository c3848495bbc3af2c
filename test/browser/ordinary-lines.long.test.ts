import { expect, it, type TestContext } from 'vitest'
import type { Engine } from './engines/engine.js'
import { describeOnSlowLines } from './engines/engines.js'
import { openEngineSession } from './engines/session.js'
import { uploadAtOnce } from './engines/several-files.js'

/** In bytes per second. */
const MBIT = 125_000

/** In milliseconds. The slowest line needs ten minutes, and more on a busy machine. */
const HALF_AN_HOUR = 1_800_000

// Takes a quarter of an hour, so `slow-lines` has a shorter run. The longer case comes first, because five tests run at once.
await describeOnSlowLines('an ordinary line', (engine) => {
  it(
    'of 1 Mbit/s carries two files of 33 MiB at once, each part once',
    (test) => expectCarried(engine(), test, 1, 2),
    HALF_AN_HOUR,
  )

  it(
    'of 5 Mbit/s carries six files of 33 MiB at once, each part once',
    (test) => expectCarried(engine(), test, 5, 6),
    HALF_AN_HOUR,
  )
})

async function expectCarried(engine: Engine, test: TestContext, rate: number, files: number): Promise<void> {
  const { server, tab } = await openEngineSession(engine, test, { bytesPerSecond: rate * MBIT })
  await uploadAtOnce(server, tab, { files, size: 33 * 1024 ** 2, stallSeconds: null })
  expect(server.partsSent).toHaveLength(files * 5)
}
