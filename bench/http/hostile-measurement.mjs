import { startChild } from './child-process.mjs'
import { bytesOf, harmless, shapes, usual } from './hostile-shapes.mjs'
import { openPipeline } from './pipeline.mjs'

const WARM_UP_REQUESTS = 1000
const ROUNDS = 9
const ROUND_REQUESTS = 8
const SCREENING_REQUESTS = 4
/** One round of a request that takes this long is enough. */
const SLOW_MICROSECONDS = 20_000
/** How many more times a request is measured if it misses its bar. */
const REPEATS = 4

/**
 * Measures all requests that Node accepts, on both servers of a framework. Returns the lowest time of each side, in
 * microseconds. `bare` is `null` if the total time of the library meets the bar already.
 */
export async function measureFramework(framework) {
  const child = startChild('hostile-process.mjs', [framework], ['--no-deprecation'])
  const { ports } = await child.reply()
  const open = (side) => openPipeline(ports[side])
  const lines = { library: await open('library'), bare: await open('bare') }

  async function measure(side, shape, count) {
    const bytes = bytesOf(shape)
    const before = await child.request({})
    const response = await lines[side].send(bytes, count)
    const after = await child.request({})
    if (response === null) lines[side] = await open(side)
    return { response, microseconds: (after.microseconds - before.microseconds) / count }
  }

  /** Measures both sides of one or more requests in alternating rounds. */
  async function compare(...compared) {
    const lowest = compared.map(() => ({ library: Infinity, bare: Infinity }))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, shape] of compared.entries()) {
        const times = lowest[index]
        if (round > 0 && times.library > SLOW_MICROSECONDS) continue
        const { response } = await measure('library', shape, 1)
        await child.request({ record: response })
        for (const side of round % 2 === 0 ? ['library', 'bare'] : ['bare', 'library']) {
          const { microseconds } = await measure(side, shape, ROUND_REQUESTS)
          times[side] = Math.min(times[side], microseconds)
        }
      }
    }
    return lowest
  }

  for (let done = 0; done < WARM_UP_REQUESTS; done += 50) await measure('library', usual, 50)
  const references = new Map()
  async function measuredReference(shape) {
    if (!references.has(shape.id)) references.set(shape.id, { shape, times: (await compare(shape))[0] })
    return references.get(shape.id)
  }
  async function referenceOf(shape) {
    const cheapest = await measuredReference(usual)
    if (shape.body === null) return cheapest
    const like = await measuredReference(harmless(shape))
    return added(like.times) > added(cheapest.times) ? like : cheapest
  }

  const rows = []
  for (const shape of shapes) {
    const reference = await referenceOf(shape)
    const { response, microseconds } = await measure('library', shape, SCREENING_REQUESTS)
    if (response === null) continue
    const row = { shape, status: response.status, reference, times: { library: microseconds, bare: null } }
    if (misses(row)) row.times = (await compare(shape))[0]
    rows.push(row)
  }
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const row of rows.filter(misses)) {
      const { shape, reference } = row
      const [times, referenceTimes] = await compare(shape, reference.shape)
      row.times = lowestOf(row.times, times)
      row.reference = { shape: reference.shape, times: lowestOf(reference.times, referenceTimes) }
    }
  }

  await child.stop()
  for (const line of Object.values(lines)) line.close()
  return rows.map((row) => ({
    name: row.shape.name,
    bar: row.shape.bar,
    status: row.status,
    ...row.times,
    ratio: ratioOf(row),
  }))
}

function added({ library, bare }) {
  return library - (bare ?? 0)
}

function ratioOf({ times, reference }) {
  return added(times) / added(reference.times)
}

function misses(row) {
  return ratioOf(row) > row.shape.bar.most
}

/** Noise only adds time. Both requests of a ratio are measured equally often, because more rounds find lower times. */
function lowestOf(a, b) {
  return { library: Math.min(a.library, b.library), bare: Math.min(a.bare, b.bare) }
}
