import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installedProgram } from './installed-program.js'
import { startInFolder } from './private-server.js'
import type { ServerKind } from './found-server.js'

/** Where Debian and Homebrew install it. Not always on PATH. */
const FOLDERS = ['/usr/sbin', '/opt/homebrew/bin', '/usr/local/bin']

/** nginx in front of a server, with its default settings. */
export function nginxBefore(target: string): ServerKind {
  return {
    name: 'nginx',
    variable: 'TEST_NGINX_URL',
    howToGet: 'install nginx (Debian: apt-get install nginx-light)',
    ways: [
      async () => {
        const program = installedProgram('nginx', FOLDERS)
        return program === null ? null : startNginx(program, target)
      },
    ],
  }
}

function startNginx(program: string, target: string) {
  return startInFolder('nginx', null, async (folder) => {
    const file = join(folder.path, 'nginx.conf')
    const { port } = await folder.serveOnFreePort(
      program,
      async (port) => {
        await writeFile(file, settings(folder.path, port, target))
        return ['-c', file, '-e', 'stderr']
      },
      (port) =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        ),
    )
    return { url: `http://127.0.0.1:${port}`, from: program, stop: () => folder.remove('SIGTERM') }
  })
}

function settings(folder: string, port: number, target: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return [
    ...['daemon off;', `pid ${folder}/pid;`, 'events {}', 'http {', 'access_log off;'],
    ...temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`),
    `server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; } }`,
    '}',
  ].join('\n')
}
