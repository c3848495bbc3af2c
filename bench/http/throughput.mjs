import { median } from '../ratios.mjs'
import { startServer } from './child-process.mjs'
import { BARE_PATH, LIBRARY_PATH } from './servers.mjs'

const WARM_UP_REQUESTS = 4000
const ROUND_REQUESTS = 1500
/** Lowest ratio to the bare route. */
const BAR = 0.9

/**
 * Compares both routes of one server in alternating rounds. The server has one thread, so its CPU time limits what it
 * can serve. Other load on the machine delays both routes and does not count.
 */
export async function compareRoutes(framework, connection, load, rounds) {
  const server = await startServer(framework, connection)
  const paths = { bare: BARE_PATH, library: LIBRARY_PATH }
  await expectSameResponses(server, paths)
  async function measure(side, requests) {
    const url = server.origin + paths[side]
    const before = await server.request('cpu')
    const result = await load.request({ url, cookie: server.cookie, requests })
    const after = await server.request('cpu')
    if (result.failed > 0) throw new Error(`${framework}, ${side}: ${result.failed} requests failed.`)
    return {
      microseconds: (after.microseconds - before.microseconds) / result.requests,
      perSecond: (result.requests / result.milliseconds) * 1000,
    }
  }

  const measured = { bare: [], library: [] }
  for (const side of Object.keys(measured)) await measure(side, WARM_UP_REQUESTS)
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? ['bare', 'library'] : ['library', 'bare']) {
      measured[side].push(await measure(side, ROUND_REQUESTS))
    }
  }
  await server.stop()

  const medianOf = (side, what) => median(measured[side].map((round) => round[what]))
  const ratios = measured.bare.map(
    ({ microseconds }, round) => microseconds / measured.library[round].microseconds,
  )
  const ratio = medianOf('bare', 'microseconds') / medianOf('library', 'microseconds')
  return {
    framework,
    bare: medianOf('bare', 'microseconds'),
    library: medianOf('library', 'microseconds'),
    ratio,
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    rates: medianOf('library', 'perSecond') / medianOf('bare', 'perSecond'),
    bar: BAR,
    missed: ratio < BAR,
  }
}

async function expectSameResponses({ origin, cookie }, { bare, library }) {
  const [one, other] = await Promise.all(
    [bare, library].map(async (path) => (await fetch(origin + path, { headers: { cookie } })).text()),
  )
  if (one !== other || !one.startsWith('{"objects":[{')) {
    throw new Error(`The two routes return different bodies:\n${one.slice(0, 300)}\n${other.slice(0, 300)}`)
  }
}
