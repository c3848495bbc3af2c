import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { isOpen } from './open-port.js'
import { onFreePort, startInFolder, type PrivateFolder } from './private-server.js'

/** The programs of Ceph that are needed. Debian has them in three packages. */
const PROGRAMS = [
  'ceph',
  'ceph-authtool',
  'ceph-mon',
  'ceph-osd',
  'monmaptool',
  'radosgw',
  'radosgw-admin',
] as const
type Program = (typeof PROGRAMS)[number]
type Programs = Readonly<Record<Program, string>>

/** Limit of the in-memory object store. The memory is not reserved. */
const DEVICE_BYTES = 4 * 1024 ** 3

/**
 * The URL contains the credentials: `http://access:secret@host:port`. The parameter `guest` holds those of a second
 * account, as `access:secret`, which has no permissions unless a bucket policy grants them.
 */
export const RADOSGW: ServerKind = {
  name: 's3',
  variable: 'TEST_S3_URL',
  howToGet: 'install the gateway of Ceph (Debian: apt-get install radosgw ceph-mon ceph-osd)',
  ways: [
    async () => {
      const programs = installedPrograms()
      return programs === null ? null : onFreePort((port) => startRadosgw(programs, port))
    },
  ],
}

/** Starts the smallest Ceph cluster that serves S3: a monitor on this port, an in-memory store and the gateway. */
async function startRadosgw(programs: Programs, monitorPort: number): Promise<RunningServer> {
  return startInFolder('radosgw', null, async (folder) => {
    const identity = { cluster: randomUUID(), store: randomUUID() }
    const configuration = await configure(folder.path, identity.cluster, monitorPort)
    const keyring = join(folder.path, 'keyring')
    await createKeys(folder, programs, keyring)

    const map = join(folder.path, 'monmap')
    const address = `[v2:127.0.0.1:${monitorPort}]`
    await folder.run(programs.monmaptool, [
      ...['--create', '--addv', 'a', address],
      ...['--fsid', identity.cluster, map],
    ])
    const monitor = [...configuration, '-i', 'a']
    await folder.run(programs['ceph-mon'], [...monitor, '--mkfs', '--monmap', map, '--keyring', keyring])
    await folder.serve(programs['ceph-mon'], [...monitor, '-f'], () => isOpen(monitorPort))
    await folder.run(programs.ceph, [...configuration, 'osd', 'new', identity.store])
    const store = [...configuration, '-i', '0', '--no-mon-config']
    await folder.run(programs['ceph-osd'], [...store, '--mkfs', '--osd-uuid', identity.store])
    await folder.serve(programs['ceph-osd'], [...store, '-f'], async () => true)

    const gateway = [...configuration, '-n', 'client.gateway', '--no-mon-config']
    const { port } = await folder.serveOnFreePort(
      programs.radosgw,
      (port) => [...gateway, `--rgw_frontends=beast endpoint=127.0.0.1:${port}`, '-f'],
      responds,
    )
    const accounts = ['owner', 'guest'].map((name) => ({ name, secret: randomUUID() }))
    for (const { name, secret } of accounts) {
      const user = [
        `--uid=${name}`,
        `--display-name=${name}`,
        `--access-key=${name}`,
        `--secret-key=${secret}`,
      ]
      await folder.run(programs['radosgw-admin'], [...gateway, 'user', 'create', ...user])
    }
    const [owner, guest] = accounts.map(({ name, secret }) => `${name}:${secret}`)
    const url = `http://${owner}@127.0.0.1:${port}/?guest=${guest}`
    return { url, from: programs.radosgw, stop: () => folder.remove('SIGKILL') }
  })
}

/** Writes the configuration file. Returns the arguments that select it. */
async function configure(path: string, cluster: string, monitorPort: number): Promise<readonly string[]> {
  for (const name of ['mon', 'osd', 'run', 'gateway']) await mkdir(join(path, name))
  const settings = [
    '[global]',
    `fsid = ${cluster}`,
    `mon host = [v2:127.0.0.1:${monitorPort}/0]`,
    'mon initial members = a',
    'public addr = 127.0.0.1',
    'cluster addr = 127.0.0.1',
    // The gateway doesn't start without authentication.
    'auth cluster required = cephx',
    'auth service required = cephx',
    'auth client required = cephx',
    `keyring = ${join(path, 'keyring')}`,
    `run dir = ${join(path, 'run')}`,
    `admin socket = ${join(path, 'run', '$name.$pid.asok')}`,
    `log file = ${join(path, 'run', '$name.log')}`,
    'osd pool default size = 1',
    'osd pool default min size = 1',
    'osd pool default pg num = 1',
    'osd pool default pgp num = 1',
    'osd pool default pg autoscale mode = off',
    'osd crush chooseleaf type = 0',
    'mon max pg per osd = 1000',
    'mon allow pool size one = true',
    // By default, each step of the start waits a second for others to batch with.
    'paxos propose interval = 0.01',
    'paxos min wait = 0.01',
    '[mon]',
    `mon data = ${join(path, 'mon')}`,
    `mon cluster log file = ${join(path, 'run', 'cluster.log')}`,
    // Minimum free disk space in per cent. The monitor needs almost nothing.
    'mon data avail crit = 1',
    'mon data avail warn = 2',
    '[osd]',
    `osd data = ${join(path, 'osd')}`,
    'osd objectstore = memstore',
    `memstore device bytes = ${DEVICE_BYTES}`,
    'osd class load list = *',
    'osd class default list = *',
    '[client]',
    `rgw data = ${join(path, 'gateway')}`,
    'rgw enable usage log = false',
    // Accepts files encrypted with a customer key over HTTP, as it does over HTTPS.
    'rgw crypt require ssl = false',
    'rgw run sync thread = false',
  ]
  const file = join(path, 'ceph.conf')
  await writeFile(file, `${settings.join('\n')}\n`)
  return ['-c', file]
}

async function createKeys(folder: PrivateFolder, programs: Programs, keyring: string): Promise<void> {
  const everything = (...services: string[]) => services.flatMap((service) => ['--cap', service, 'allow *'])
  const create = (args: readonly string[]) => folder.run(programs['ceph-authtool'], args)
  await create(['-C', keyring, '--gen-key', '-n', 'mon.', ...everything('mon')])
  for (const name of ['client.admin', 'osd.0', 'client.gateway']) {
    await create([keyring, '--gen-key', '-n', name, ...everything('mon', 'osd', 'mgr')])
  }
}

async function responds(port: number): Promise<boolean> {
  try {
    await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer()
    return true
  } catch {
    return false
  }
}

/** Returns all programs, or `null` if one is missing. */
function installedPrograms(): Programs | null {
  const found = PROGRAMS.map((name) => [name, installedProgram(name)] as const)
  return found.every(([, path]) => path !== null) ? (Object.fromEntries(found) as Programs) : null
}
