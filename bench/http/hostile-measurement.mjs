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
  const lowest = new Map()

  async function send(side, shape, count) {
    const bytes = bytesOf(shape)
    const before = await child.request({})
    const response = await lines[side].send(bytes, count)
    const after = await child.request({})
    if (response === null) lines[side] = await open(side)
    return { response, microseconds: (after.microseconds - before.microseconds) / count }
  }

  /** Sends copies of a request and keeps the time if it is the lowest. Noise only adds time. */
  async function measure(side, shape, count) {
    const { response, microseconds } = await send(side, shape, count)
    const times = lowest.get(shape.id) ?? { library: null, bare: null }
    lowest.set(shape.id, { ...times, [side]: Math.min(times[side] ?? Infinity, microseconds) })
    return response
  }

  /** Measures both sides of one or more requests in alternating rounds. */
  async function compare(...compared) {
    for (let round = 0; round < ROUNDS; round++) {
      for (const shape of compared) {
        if (round > 0 && lowest.get(shape.id).library > SLOW_MICROSECONDS) continue
        const { response } = await send('library', shape, 1)
        await child.request({ record: response })
        for (const side of round % 2 === 0 ? ['library', 'bare'] : ['bare', 'library']) {
          await measure(side, shape, ROUND_REQUESTS)
        }
      }
    }
  }

  function added(shape) {
    const { library, bare } = lowest.get(shape.id)
    return library - (bare ?? 0)
  }

  function referenceOf(shape) {
    if (shape.body === null) return usual
    const like = harmless(shape)
    return added(like) > added(usual) ? like : usual
  }

  const ratioOf = (shape) => added(shape) / added(referenceOf(shape))
  const misses = (shape) => ratioOf(shape) > shape.bar.most

  for (let done = 0; done < WARM_UP_REQUESTS; done += 50) await send('library', usual, 50)
  await compare(usual)
  const accepted = []
  for (const shape of shapes) {
    const response = await measure('library', shape, SCREENING_REQUESTS)
    if (response === null) continue
    accepted.push({ shape, status: response.status, repeats: 0 })
    if (shape.body !== null && !lowest.has(harmless(shape).id)) await compare(harmless(shape))
    if (misses(shape)) await compare(shape)
  }

  const mostUrgent = () =>
    accepted
      .filter(({ shape, repeats }) => misses(shape) && repeats < REPEATS)
      .toSorted((a, b) => a.repeats - b.repeats)
      .at(0)
  for (let next = mostUrgent(); next; next = mostUrgent()) {
    next.repeats++
    await compare(next.shape, referenceOf(next.shape))
  }

  await child.stop()
  for (const line of Object.values(lines)) line.close()
  return accepted.map(({ shape, status }) => ({
    name: shape.name,
    bar: shape.bar,
    status,
    ...lowest.get(shape.id),
    ratio: ratioOf(shape),
  }))
}
