import { afterAll, beforeAll, describe } from 'vitest'
import { describeSkipped } from '../../servers/describe-with-server.js'
import { CHROMIUM } from '../../servers/chromium.js'
import { FIREFOX } from '../../servers/firefox.js'
import { findServer, type ServerKind } from '../../servers/found-server.js'
import { openNamespace, NETWORK_NAMESPACES, type NetworkNamespace } from '../../servers/network-namespace.js'
import { WEBKIT } from '../../servers/webkit.js'
import { startChromium } from './chromium.js'
import type { Engine, EngineName } from './engine.js'
import { startFirefox } from './firefox.js'
import { startWebKit } from './webkit.js'

/** Not a host that browsers trust without TLS, so its pages have neither `crypto.subtle` nor locks. */
export const PLAIN_HOST = 'files.test'

interface KnownEngine {
  readonly kind: ServerKind
  readonly start: (program: string, plainHost: string, network?: NetworkNamespace) => Promise<Engine>
}

const ENGINES: Readonly<Record<EngineName, KnownEngine>> = {
  Chromium: { kind: CHROMIUM, start: startChromium },
  Firefox: { kind: FIREFOX, start: startFirefox },
  WebKit: { kind: WEBKIT, start: startWebKit },
}

type Body = (engine: () => Engine, name: EngineName) => void

/**
 * Registers a suite for each engine that is installed, and a visible skip for the others. The tests run at once, because they wait for
 * most of their time.
 */
export async function describeInEngines(title: string, body: Body): Promise<void> {
  await describeEach(title, body)
}

/** Like {@link describeInEngines}, for pages with `bytesPerSecond`. Each engine runs in a network of its own. */
export async function describeOnSlowLines(title: string, body: Body): Promise<void> {
  await describeEach(title, body, [NETWORK_NAMESPACES])
}

async function describeEach(title: string, body: Body, needed: readonly ServerKind[] = []): Promise<void> {
  for (const name of Object.keys(ENGINES) as EngineName[]) {
    const { kind, start } = ENGINES[name]
    const found = await Promise.all([kind, ...needed].map(findServer))
    const reasons = found.flatMap((server) => ('reason' in server ? [server.reason] : []))
    if (reasons.length > 0) {
      describeSkipped(`${title} in ${name}`, reasons.join(' '))
      continue
    }
    const [browser = '', unshare] = found.flatMap((server) => ('url' in server ? [server.url] : []))
    describe.concurrent(`${title} in ${name}`, () => {
      let engine: Engine
      beforeAll(async () => {
        if (unshare === undefined) engine = await start(browser, PLAIN_HOST)
        else engine = await startInNetwork(await openNamespace(unshare), start, browser)
      })
      afterAll(() => engine.stop())
      body(() => engine, name)
    })
  }
}

async function startInNetwork(
  network: NetworkNamespace,
  start: KnownEngine['start'],
  browser: string,
): Promise<Engine> {
  const { openProfile, stop } = await start(await network.programFor(browser), PLAIN_HOST, network)
  return { openProfile, network, stop: () => stop().finally(() => network.close()) }
}
