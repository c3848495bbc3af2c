import { fork, type SendHandle } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { startInFolder, type PrivateFolder } from './private-server.js'

const PROCESS = fileURLToPath(new URL('network-namespace-process.mjs', import.meta.url))

/** Where Debian installs `ip` and `tc`. Not always on PATH. */
const FOLDERS = '/usr/sbin:/sbin'

/**
 * The loopback of a network namespace. Nothing on the machine sees it: a new address of the machine itself makes browsers end their
 * connections. It ends with this process and the programs in it, even if they are killed.
 */
export interface NetworkNamespace {
  /** Writes a program that runs another one in this network. Resolves to its path. */
  readonly programFor: (program: string) => Promise<string>
  /** Lets the tests connect to a program in this network by the same port of the machine's loopback. */
  readonly reach: (port: number) => Promise<void>
  /** Makes a server reachable at its URL in this network, too. `bytesPerSecond` limits what all connections together send to it. */
  readonly serve: (server: HttpServer, bytesPerSecond?: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Whether this process may open them. Found like the test servers, with the path of `unshare` as its URL. */
export const NETWORK_NAMESPACES: ServerKind = {
  name: 'namespaces',
  variable: 'UNSHARE_PATH',
  howToGet: 'run the tests as root on Linux with iproute2 (Debian: apt-get install iproute2)',
  ways: [
    async () => {
      const unshare = installedProgram('unshare')
      if (unshare === null) return null
      // Containers may forbid it, and kernels may lack a part.
      await (await openNamespace(unshare)).close()
      return { url: unshare, from: unshare, stop: async () => {} }
    },
  ],
}

export function openNamespace(unshare: string): Promise<NetworkNamespace> {
  return startInFolder('network', null, (folder) => startNamespace(unshare, folder))
}

async function startNamespace(unshare: string, folder: PrivateFolder): Promise<NetworkNamespace> {
  const inside = await startInside(unshare)
  const relays: Server[] = []
  return {
    async programFor(program) {
      const path = join(folder.path, 'program')
      const script = `#!/bin/sh\nexec nsenter --net=/proc/${inside.pid}/ns/net -- '${program}' "$@"\n`
      await writeFile(path, script, { mode: 0o755 })
      return path
    },
    async reach(port) {
      const relay = createServer((outer) => {
        outer.on('error', () => outer.destroy())
        inside.connectTo(port).then(
          (inner) => {
            inner.on('error', () => outer.destroy())
            outer.pipe(inner).pipe(outer)
          },
          () => outer.destroy(),
        )
      })
      relays.push(relay)
      await new Promise<void>((resolve) => relay.listen(port, '127.0.0.1', resolve))
    },
    async serve(server, bytesPerSecond) {
      const { port } = server.address() as { readonly port: number }
      if (bytesPerSecond !== undefined) await inside.slowDown(port, bytesPerSecond)
      const listener = await inside.listen(port)
      listener.on('connection', (socket) => server.emit('connection', socket))
      server.on('close', () => listener.close())
    },
    async close() {
      for (const relay of relays) relay.close()
      inside.end()
      await folder.remove('SIGKILL')
    },
  }
}

/** Starts the process in the network. */
async function startInside(unshare: string) {
  const child = fork(PROCESS, [], {
    execPath: unshare,
    execArgv: ['--net', process.execPath],
    env: { ...process.env, PATH: `${process.env['PATH']}:${FOLDERS}` },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let complaints = ''
  child.stderr!.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('error', reject)
    child.once('close', () => reject(new Error(complaints.trim())))
  })

  const replies = new Map<number, (reply: { readonly error?: string }, handle: SendHandle) => void>()
  child.on('message', (reply: { readonly id: number; readonly error?: string }, handle) =>
    replies.get(reply.id)!(reply, handle),
  )
  let last = 0
  const ask =
    <Handle, Args extends readonly unknown[] = [port: number]>(job: string) =>
    (...args: Args) =>
      new Promise<Handle>((resolve, reject) => {
        const id = ++last
        replies.set(id, ({ error }, handle) => {
          replies.delete(id)
          if (error === undefined) resolve(handle as Handle)
          else reject(new Error(error))
        })
        child.send({ id, job, args })
      })
  return {
    pid: child.pid,
    listen: ask<Server>('listen'),
    connectTo: ask<Socket>('connectTo'),
    slowDown: ask<void, [port: number, bytesPerSecond: number]>('slowDown'),
    end: () => child.disconnect(),
  }
}
