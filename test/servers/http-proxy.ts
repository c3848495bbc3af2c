import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installedProgram } from './installed-program.js'
import { startInFolder } from './private-server.js'
import type { ServerKind } from './found-server.js'

/** What a proxy is to do. */
export interface ProxySettings {
  /** For its temporary files. */
  readonly folder: string
  readonly port: number
  /** The server behind it, as `host:port`. */
  readonly target: string
  /** The limit of a request's body; `null` for that of the proxy. */
  readonly maxBytes: number | null
}

/** A program that can stand in front of a server. */
export interface ProxyProgram {
  readonly name: string
  readonly debianPackage: string
  readonly settings: (proxy: ProxySettings) => readonly string[]
  /** The arguments that name the file with the settings, and keep the program in the foreground. */
  readonly args: (file: string) => readonly string[]
}

/** Where Debian and Homebrew install them. Not always on PATH. */
const FOLDERS = ['/usr/sbin', '/opt/homebrew/bin', '/usr/local/bin']

/** A proxy in front of a server, with its default settings, or with another limit of bodies. */
export function proxyBefore(program: ProxyProgram, url: string, maxBytes: number | null = null): ServerKind {
  const { name, debianPackage } = program
  return {
    name,
    variable: `TEST_${name.toUpperCase()}_URL`,
    howToGet: `install ${name} (Debian: apt-get install ${debianPackage})`,
    ways: [
      async () => {
        const path = installedProgram(name, FOLDERS)
        return path === null ? null : startProxy(path, program, new URL(url).host, maxBytes)
      },
    ],
  }
}

function startProxy(
  path: string,
  { name, settings, args }: ProxyProgram,
  target: string,
  maxBytes: number | null,
) {
  return startInFolder(name, null, async (folder) => {
    const file = join(folder.path, 'settings')
    const { port } = await folder.serveOnFreePort(
      path,
      async (port) => {
        const lines = settings({ folder: folder.path, port, target, maxBytes })
        await writeFile(file, `${lines.join('\n')}\n`)
        return args(file)
      },
      (port) =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        ),
    )
    return { url: `http://127.0.0.1:${port}`, from: path, stop: () => folder.remove('SIGTERM') }
  })
}
