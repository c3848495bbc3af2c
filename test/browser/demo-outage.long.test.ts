import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { createDatabase } from '../servers/fresh-database.js'
import { POSTGRES } from '../servers/postgres.js'
import { privateFolder } from '../servers/private-server.js'
import { findChromium, useBrowser } from './chromium.js'
import { openDemo, textFile } from './demo-page.js'
import { startDemo } from './demo-server.js'

const executablePath = await findChromium()
const postgres = await findServer(POSTGRES)

describe.skipIf(executablePath === null || 'reason' in postgres)(
  'an outage of the database of the demo',
  () => {
    const browser = useBrowser(executablePath)

    it('shows that the list is missing, and the list once the database is back', async () => {
      if ('reason' in postgres) return
      const database = await createDatabase(postgres.url)
      const proxy = await switchedProxy(database.url)
      const folder = await privateFolder('demo', null)
      const server = await startDemo({ dataFolder: folder.path, settings: { DATABASE_URL: proxy.url } })
      onTestFinished(async () => {
        await server.stop()
        await folder.remove('SIGKILL')
        proxy.close()
        await database.drop()
        await postgres.stop()
      })

      const demo = await openDemo(browser(), server.url)
      const { page } = demo
      await demo.choose(textFile('a.txt'))
      await demo.shows(['a.txt'])
      proxy.turn('off')
      await page.reload()
      await page.getByText('Your files couldn’t be loaded.').waitFor()
      expect(await page.getByText('Nothing here yet').isVisible()).toBe(false)
      await demo.choose(textFile('b.txt'))
      await page.getByText('1 file not uploaded').waitFor()

      proxy.turn('on')
      await page.getByRole('button', { name: 'Try again' }).click()
      await demo.shows(['a.txt'])
      await page.getByRole('button', { name: 'Retry b.txt' }).click()
      await demo.shows(['a.txt', 'b.txt'])
      await demo.usage('2 of 40 files')
      // An error was about the outage only.
      expect(await page.getByText('Couldn’t load how much you store.').count()).toBe(0)

      const { complaints } = await server.stop()
      const lines = complaints.trim().split('\n')
      expect(
        lines.filter((line) => !/^The database is unavailable|^Lost an idle connection/.test(line)),
      ).toEqual([])
    })
  },
)

/** A proxy in front of a server. While it is off, it closes every connection. */
async function switchedProxy(target: string): Promise<{
  readonly url: string
  turn(state: 'on' | 'off'): void
  close(): void
}> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let isOn = true
  const cut = () => sockets.forEach((socket) => socket.destroy())
  const server: Server = createServer((client) => {
    if (!isOn) {
      client.destroy()
      return
    }
    const upstream = connect(Number(port), hostname)
    for (const [socket, peer] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        peer.destroy()
      })
      socket.pipe(peer)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    turn(state) {
      isOn = state === 'on'
      if (!isOn) cut()
    },
    close() {
      cut()
      server.close()
    },
  }
}
