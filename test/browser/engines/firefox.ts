import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, type Page } from 'puppeteer-core'
import type { NetworkNamespace } from '../../servers/network-namespace.js'
import { startInFolder } from '../../servers/private-server.js'
import { until } from '../../until.js'
import type { Engine, Tab } from './engine.js'
import { polledEvaluate } from './polled-evaluate.js'

/** Starts Firefox, driven by WebDriver BiDi. Pages at `http://HOST` of `plainHost` are served at 127.0.0.1. */
export function startFirefox(
  program: string,
  plainHost: string,
  network?: NetworkNamespace,
): Promise<Engine> {
  return startInFolder('firefox', null, async (folder) => {
    const profile = join(folder.path, 'profile')
    await mkdir(profile)
    const downloads = join(folder.path, 'downloads')
    await mkdir(downloads)
    const settings = {
      ...SETTINGS,
      'network.dns.localDomains': plainHost,
      'browser.download.dir': downloads,
    }
    await writeFile(join(profile, 'user.js'), preferences(settings))
    const { port } = await folder.serveOnFreePort(
      'env',
      async (port) => {
        await network?.reach(port)
        return [
          `HOME=${folder.path}`,
          ...[
            program,
            '--headless',
            '--no-remote',
            '--profile',
            profile,
            '--remote-debugging-port',
            `${port}`,
          ],
        ]
      },
      (port) =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        ),
    )
    const browser = await connect({
      browserWSEndpoint: `ws://127.0.0.1:${port}/session`,
      protocol: 'webDriverBiDi',
      protocolTimeout: 0,
      defaultViewport: null,
    })
    const oneByOne = inTurn()
    return {
      openProfile: async () => {
        const context = await oneByOne(() => browser.createBrowserContext())
        const openTab = async (url: string) => {
          const page = await oneByOne(() => context.newPage())
          page.setDefaultTimeout(0)
          await page.goto(url)
          return { ...tabOf(page, downloads), close: () => oneByOne(() => page.close()) }
        }
        return { openTab, close: () => oneByOne(() => context.close()) }
      },
      stop: async () => {
        await browser.disconnect()
        await folder.remove('SIGKILL')
      },
    }
  })
}

/** Firefox itself sets most of what tests need when a program drives it. */
const SETTINGS = {
  // Is off while a program drives the browser.
  'fission.bfcacheInParent': true,
  // All but one tab of a window are in the background, where timers are slow.
  'dom.min_background_timeout_value': 4,
  // The folder that `browser.download.dir` names.
  'browser.download.folderList': 2,
  'browser.download.alwaysOpenPanel': false,
  'dom.timeout.enable_budget_timer_throttling': false,
}

function preferences(settings: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  )
  return lines.join('')
}

/** Returns a function that does one thing after the other. Firefox discards a tab that opens while another one closes. */
function inTurn() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

function tabOf(page: Page, downloads: string): Omit<Tab, 'close'> {
  const begin = async (call: () => void) => {
    await page.evaluate(`void setTimeout(${String(call)})`)
  }
  return {
    goto: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    begin,
    evaluate: polledEvaluate((expression) => page.evaluate(expression)),
    choose: async (selector, paths) => {
      const input = await page.$(selector)
      await (input as Awaited<ReturnType<typeof page.$<'input'>>>)!.uploadFile(...paths)
      await input!.dispose()
    },
    download: async (call) => {
      const before = await readdir(downloads)
      await begin(call)
      let saved: string | undefined
      await until(async () => {
        const names = await readdir(downloads)
        // While a file is incomplete, Firefox keeps a second one beside it.
        if (!names.some((name) => name.endsWith('.part')))
          saved = names.find((name) => !before.includes(name))
        return saved !== undefined
      })
      return saved!
    },
  }
}
