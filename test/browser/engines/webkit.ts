import { request } from 'node:http'
import { connect } from 'node:net'
import { Builder, By, Capabilities, type WebDriver } from 'selenium-webdriver'
import { startHttpServer } from '../../servers/http-server.js'
import type { NetworkNamespace } from '../../servers/network-namespace.js'
import { startInFolder, type PrivateFolder } from '../../servers/private-server.js'
import type { Engine, Profile, Tab } from './engine.js'
import { polledEvaluate } from './polled-evaluate.js'

/** Starts a display for WebKitGTK's MiniBrowser, driven by WebDriver. */
export function startWebKit(driver: string, _plainHost: string, network?: NetworkNamespace): Promise<Engine> {
  return startInFolder('webkit', null, async (folder) => {
    // Takes the number of a free port, because two displays can't have one number either.
    const { port: display } = await folder.serveOnFreePort(
      'Xvfb',
      (number) => [`:${number}`, '-nolisten', 'tcp', '-screen', '0', '1280x1024x24'],
      (number) => accepts({ path: `/tmp/.X11-unix/X${number}` }),
    )
    return {
      openProfile: () => openProfile(folder, driver, display, network),
      stop: () => folder.remove('SIGKILL'),
    }
  })
}

/** Starts a driver, which has one window with a new profile. */
async function openProfile(
  folder: PrivateFolder,
  driver: string,
  display: number,
  network?: NetworkNamespace,
): Promise<Profile> {
  const running = await folder.serveOnFreePort(
    'env',
    async (free) => {
      await network?.reach(free)
      return [`DISPLAY=:${display}`, `HOME=${folder.path}`, driver, `--port=${free}`]
    },
    (free) => accepts({ port: free, host: '127.0.0.1' }),
  )
  const proxy = await startPlainHostProxy()
  const capabilities = new Capabilities({
    browserName: 'MiniBrowser',
    // The only way to have a name of a host resolved without changing the machine.
    proxy: {
      proxyType: 'manual',
      httpProxy: proxy.url.replace('http://', ''),
      noProxy: ['127.0.0.1', 'localhost'],
    },
  })
  const session = await new Builder()
    .usingServer(`http://127.0.0.1:${running.port}`)
    .withCapabilities(capabilities)
    .build()
  const inTurn = oneAfterAnother()
  let isUsed = false
  const openTab = async (url: string): Promise<Tab> => {
    const handle = await inTurn(async () => {
      if (isUsed) await session.switchTo().newWindow('tab')
      isUsed = true
      return session.getWindowHandle()
    })
    const tab = tabOf(session, handle, inTurn)
    await tab.goto(url)
    return tab
  }
  return {
    openTab,
    close: async () => {
      await inTurn(() => session.quit())
      await running.kill()
      await proxy.stop()
    },
  }
}

/** Forwards requests for any host to the same port at 127.0.0.1. */
function startPlainHostProxy() {
  return startHttpServer((req, res) => {
    const { port, pathname, search } = new URL(req.url ?? '')
    const { method, headers } = req
    const forwarded = request(
      { host: '127.0.0.1', port, path: pathname + search, method, headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    forwarded.on('error', () => res.destroy())
    res.on('close', () => forwarded.destroy())
    req.pipe(forwarded)
  })
}

/** WebDriver runs one command at a time, in one tab. */
function tabOf(session: WebDriver, handle: string, inTurn: InTurn): Tab {
  const inTab = <Result>(command: () => Promise<Result>) =>
    inTurn(async () => {
      await session.switchTo().window(handle)
      return command()
    })
  return {
    goto: (url) => inTab(() => session.get(url)),
    reload: () => inTab(() => session.navigate().refresh()),
    begin: (call) => inTab(() => session.executeScript(`setTimeout(${String(call)})`)),
    evaluate: polledEvaluate((expression) => inTab(() => session.executeScript(`return ${expression}`))),
    choose: (selector, paths) =>
      inTab(() => session.findElement(By.css(selector)).sendKeys(paths.join('\n'))),
    close: () => inTab(() => session.close()),
  }
}

type InTurn = <Result>(command: () => Promise<Result>) => Promise<Result>

/** Returns a function that begins a command once the one before has ended. */
function oneAfterAnother(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (command) => {
    const result = last.then(command, command)
    last = result
    return result
  }
}

function accepts(address: { path: string } | { port: number; host: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
