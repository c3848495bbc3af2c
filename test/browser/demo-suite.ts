import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { ExampleProcess } from '../servers/example-process.js'
import type { PrivateFolder } from '../servers/private-server.js'
import { useBrowser } from './chromium.js'
import { demoFolder } from './demo-folders.js'
import { openDemo, type DemoPage } from './demo-page.js'
import { startDemo } from './demo-server.js'

/** What the tests of a suite use: one demo and one browser, and a page in a new context for each test. */
export interface DemoSuite {
  readonly browser: Browser
  readonly server: ExampleProcess
  readonly demo: DemoPage
}

/** Starts a demo for the suite. After each test it checks the browser's console, and deletes the files of both users. */
export function useDemo(executablePath: string | null): DemoSuite {
  const browser = useBrowser(executablePath)
  let folder: PrivateFolder
  let server: ExampleProcess
  let demo: DemoPage

  beforeAll(async () => {
    folder = await demoFolder()
    server = await startDemo({ dataFolder: folder.path })
  })
  afterAll(async () => {
    const stopped = await server.stop()
    await folder.remove('SIGKILL')
    expect(stopped).toEqual({ code: 0, complaints: '' })
  })
  beforeEach(async () => {
    demo = await openDemo(browser(), server.url)
  })
  afterEach(async () => {
    await Promise.all(
      browser()
        .contexts()
        .map((context) => context.close()),
    )
    expect(demo.complaints).toEqual([])
    await deleteAll(server.url)
  })

  return {
    get browser() {
      return browser()
    },
    get server() {
      return server
    },
    get demo() {
      return demo
    },
  }
}

/** Deletes the files of both users, and checks that no test left a reservation behind. */
async function deleteAll(url: string): Promise<void> {
  for (const user of ['ada', 'grace']) {
    const call = (path: string, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: { cookie: `demo-user=${user}` } })
    const { objects } = (await (await call('/api/s3/db/objects?limit=100')).json()) as {
      objects: { key: string }[]
    }
    for (const { key } of objects) {
      const deleted = await call(`/api/s3/object?key=${encodeURIComponent(key)}`, { method: 'DELETE' })
      expect(deleted.status).toBe(204)
    }
    const { usage } = (await (await call('/api/s3/db/usage')).json()) as { usage: unknown }
    expect(usage).toEqual({ bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 })
  }
}
