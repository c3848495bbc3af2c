import { compare } from './compare.mjs'
import { importSource } from './own-source.mjs'

const { createLane } = await importSource('src/adapters/shared/lane/lane.ts')

/** Ways in which writes may wait for each other, and what the lane counts. */
const KINDS = {
  'of one key': { counts: 'jobs', jobOf: () => ({ key: 'key', scopes: [] }) },
  'of their own keys': { counts: 'jobs', jobOf: (index) => ({ key: `key ${index}`, scopes: [] }) },
  'of one key, in a lane of many scopes': {
    counts: 'groups',
    jobOf: () => ({ key: 'key', scopes: ['scope'] }),
  },
  'of their own keys, in a lane of many scopes': {
    counts: 'groups',
    jobOf: (index) => ({ key: `key ${index}`, scopes: ['scope'] }),
  },
}

/**
 * Compares what scheduling costs writes that wait with what it costs writes that are made one after the other. The
 * writes themselves cost nothing, so no cost of the lane is hidden behind a database.
 */
export async function compareWaitingWrites() {
  const results = []
  for (const [kind, { counts, jobOf }] of Object.entries(KINDS)) {
    for (const { writes, rounds } of [
      { writes: 1000, rounds: 101 },
      { writes: 10_000, rounds: 21 },
    ]) {
      const lane = createLane({
        run: async (jobs) => jobs.map(() => true),
        hold: () => Promise.reject(new Error('No key is held.')),
        tooLate: () => null,
        wasUndone: () => false,
        counts,
        untilNextCalls: () => Promise.resolve(),
      })
      const jobs = Array.from({ length: writes }, (_, index) => jobOf(index))
      results.push(
        await compare({
          name: `${writes.toLocaleString('en')} writes ${kind}`,
          bar: { most: 2 },
          rounds,
          base: repeat(async () => {
            for (const job of jobs) await lane.add(job)
          }),
          subject: repeat(() => Promise.all(jobs.map((job) => lane.add(job)))),
        }),
      )
    }
  }
  return results
}

function repeat(call) {
  return {
    async run(calls) {
      for (let done = 0; done < calls; done++) await call()
    },
  }
}
