import { afterAll, beforeAll, describe, it } from 'vitest'
import { CHROMIUM } from '../../servers/chromium.js'
import { FIREFOX } from '../../servers/firefox.js'
import { findServer, type ServerKind } from '../../servers/found-server.js'
import { WEBKIT } from '../../servers/webkit.js'
import { startChromium } from './chromium.js'
import type { Engine, EngineName } from './engine.js'
import { startFirefox } from './firefox.js'
import { startWebKit } from './webkit.js'

/** Not a host that browsers trust without TLS, so its pages have neither `crypto.subtle` nor locks. */
export const PLAIN_HOST = 'files.test'

const ENGINES: Readonly<
  Record<EngineName, { kind: ServerKind; start: (program: string, plainHost: string) => Promise<Engine> }>
> = {
  Chromium: { kind: CHROMIUM, start: startChromium },
  Firefox: { kind: FIREFOX, start: startFirefox },
  WebKit: { kind: WEBKIT, start: startWebKit },
}

/**
 * Registers a suite for each engine that is installed, and a visible skip for the others. The tests run at once, because they wait for
 * most of their time.
 */
export async function describeInEngines(
  title: string,
  body: (engine: () => Engine, name: EngineName) => void,
): Promise<void> {
  for (const name of Object.keys(ENGINES) as EngineName[]) {
    const { kind, start } = ENGINES[name]
    const found = await findServer(kind)
    if ('reason' in found) {
      describe.skip(`${title} in ${name} (${found.reason})`, () => {
        it('needs the browser', () => {})
      })
      continue
    }
    describe.concurrent(`${title} in ${name}`, () => {
      let engine: Engine
      beforeAll(async () => {
        engine = await start(found.url, PLAIN_HOST)
      })
      afterAll(() => engine.stop())
      body(() => engine, name)
    })
  }
}
