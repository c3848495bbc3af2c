import { expect, it, type TestContext } from 'vitest'
import type { Engine } from './engines/engine.js'
import { describeInEngines } from './engines/engines.js'
import { openEngineSession } from './engines/session.js'
import { uploadAtOnce } from './engines/several-files.js'

/** In bytes per second. */
const MBIT = 125_000

/** In milliseconds. The line needs ten minutes, and more on a busy machine. */
const HALF_AN_HOUR = 1_800_000

// Takes ten minutes, so `slow-lines` has a shorter run.
await describeInEngines('an ordinary line', (engine, name) => {
  it('of 5 Mbit/s carries six files of 33 MiB at once, each part once', (test) =>
    expectCarried(engine(), test, 5, 6))

  // On the loopback, the system buffers megabytes for each connection of the others, which are more than 30 seconds of this line.
  it.skipIf(name !== 'Firefox')(
    'of 1 Mbit/s carries two files of 33 MiB at once, each part once',
    (test) => expectCarried(engine(), test, 1, 2),
    HALF_AN_HOUR,
  )
})

async function expectCarried(engine: Engine, test: TestContext, rate: number, files: number): Promise<void> {
  const { server, tab } = await openEngineSession(engine, test, { bytesPerSecond: rate * MBIT })
  await uploadAtOnce(server, tab, { files, size: 33 * 1024 ** 2, stallSeconds: null })
  expect(server.partsSent).toHaveLength(files * 5)
}
