import { median } from '../ratios.mjs'
import { CONNECTIONS, startServer } from './child-process.mjs'
import { MOUNTS } from './servers.mjs'

const WARM_UP_REQUESTS = 1600
/** Default. A multiple of the connections. Many short rounds share the load of the machine more evenly than a few long ones. */
const ROUND_REQUESTS = 400

/**
 * Compares both routes of one server in alternating rounds, for each scenario. The server has one thread, so its CPU time
 * limits what it can serve. Other load on the machine delays both routes and does not count. Scenarios with a bucket run on a
 * separate server.
 */
export async function compareRoutes(framework, { connection, gateway, scenarios, ...options }) {
  const results = []
  for (const usesBucket of [false, true]) {
    const group = scenarios.filter((scenario) => scenario.usesBucket === usesBucket)
    if (group.length === 0) continue
    const server = await startServer(framework, connection, usesBucket ? gateway.connection : null)
    for (const scenario of group) {
      results.push(await compareScenario(server, scenario, { framework, gateway, ...options }))
    }
    await server.stop()
  }
  return results
}

async function compareScenario(server, scenario, { framework, gateway, load, store, rounds }) {
  const { roundRequests = ROUND_REQUESTS } = scenario
  const owners = await Promise.all(
    scenario.owners.map(async (owner) => ({ owner, cookie: await server.signIn(owner) })),
  )

  async function callersFor(requests) {
    const count = requests / CONNECTIONS
    return Promise.all(
      owners.map(async ({ owner, cookie }) => ({
        cookie,
        bodies: await scenario.bodiesFor({ store, gateway }, owner, count),
      })),
    )
  }

  async function measure(side, requests) {
    const url = server.origin + MOUNTS[side] + scenario.path
    const callers = await callersFor(requests)
    const before = await server.request('cpu')
    const result = await load.request({ url, callers, requests })
    const after = await server.request('cpu')
    if (result.failed > 0) throw new Error(`${framework}, ${side}: ${result.failed} requests failed.`)
    return {
      microseconds: (after.microseconds - before.microseconds) / result.requests,
      perSecond: (result.requests / result.milliseconds) * 1000,
    }
  }

  await expectSameResponses(server.origin, scenario, () => callersFor(CONNECTIONS))
  const measured = { bare: [], library: [] }
  for (const side of Object.keys(measured)) await measure(side, WARM_UP_REQUESTS)
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? ['bare', 'library'] : ['library', 'bare']) {
      measured[side].push(await measure(side, roundRequests))
    }
  }

  const medianOf = (side, what) => median(measured[side].map((round) => round[what]))
  const ratios = measured.bare.map(
    ({ microseconds }, round) => microseconds / measured.library[round].microseconds,
  )
  const ratio = medianOf('bare', 'microseconds') / medianOf('library', 'microseconds')
  return {
    scenario: scenario.name,
    framework,
    bare: medianOf('bare', 'microseconds'),
    library: medianOf('library', 'microseconds'),
    ratio,
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    rates: medianOf('library', 'perSecond') / medianOf('bare', 'perSecond'),
    bar: scenario.bars[framework],
    missed: ratio < scenario.bars[framework],
  }
}

async function expectSameResponses(origin, { name, path, checkBody }, callersFor) {
  const shapes = []
  for (const mount of Object.values(MOUNTS)) {
    const [{ cookie, bodies }] = await callersFor()
    const response = await fetch(origin + mount + path, {
      headers: { cookie, 'content-type': 'application/json' },
      ...(bodies && { method: 'POST', body: JSON.stringify(bodies[0]) }),
    })
    const text = await response.text()
    if (response.ok) await checkBody?.(JSON.parse(text))
    // Each upload has its own id, key, dates and signature.
    shapes.push(`${response.status} ${bodies ? withoutValues(text) : text}`)
  }
  if (shapes[0] !== shapes[1] || !shapes[0].startsWith('20')) {
    throw new Error(
      `${name}: the two routes return different responses:\n${shapes.map((shape) => shape.slice(0, 600)).join('\n')}`,
    )
  }
}

function withoutValues(text) {
  return text
    .replace(/[\da-f]{8}-[\da-f-]{27}|\d{4}-[\d:T.-]+Z/g, '*')
    .replace(/(X-Amz-(?:Date|Expires|Signature))=\w+/g, '$1=*')
}
