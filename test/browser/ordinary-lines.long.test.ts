import { expect, it } from 'vitest'
import { describeInEngines } from './engines/engines.js'
import { openEngineSession } from './engines/session.js'
import { uploadAtOnce } from './engines/several-files.js'

/** In bytes per second. */
const MBIT = 125_000

// Takes ten minutes, so `slow-lines` has a shorter run.
await describeInEngines('an ordinary line', (engine) => {
  it.for([
    { files: 6, rate: 5 },
    { files: 2, rate: 1 },
  ])(
    'of $rate Mbit/s carries $files files of 33 MiB at once, each part once',
    async ({ files, rate }, test) => {
      const { server, tab } = await openEngineSession(engine(), test, { bytesPerSecond: rate * MBIT })
      await uploadAtOnce(server, tab, { files, size: 33 * 1024 ** 2, stallSeconds: null })
      expect(server.partsSent).toHaveLength(files * 5)
    },
  )
})
