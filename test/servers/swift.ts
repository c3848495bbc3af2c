import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { isOpen } from './open-port.js'
import { startInFolder, type PrivateFolder } from './private-server.js'

/** The programs that are needed. Debian has those of Swift in four packages. */
const PROGRAMS = [
  'memcached',
  'swift-account-server',
  'swift-container-server',
  'swift-object-server',
  'swift-proxy-server',
] as const
type Programs = Readonly<Record<(typeof PROGRAMS)[number], string>>

const DEVICE = 'device'

/** The URL contains the credentials, which work for Swift's own API as well: `http://account%3Auser:secret@host:port`. */
export const SWIFT: ServerKind = {
  name: 'swift',
  variable: 'TEST_SWIFT_URL',
  howToGet:
    'install OpenStack Swift (Debian: apt-get install swift-proxy swift-account swift-container swift-object memcached)',
  ways: [
    async () => {
      const programs = installedPrograms()
      return programs === null ? null : startSwift(programs)
    },
  ],
}

/** Starts the smallest Swift cluster that serves S3: one server of each kind, with one device. */
function startSwift(programs: Programs): Promise<RunningServer> {
  return startInFolder('swift', null, async (folder) => {
    const hash = { swift_hash_path_suffix: 'tests' }
    const policy = { name: 'one', default: 'yes' }
    await writeFile(join(folder.path, 'swift.conf'), ini({ 'swift-hash': hash, 'storage-policy:0': policy }))
    await mkdir(join(folder.path, 'devices', DEVICE), { recursive: true })
    const startMemcached = folder.serveOnFreePort(
      programs.memcached,
      (port) => ['-l', '127.0.0.1', '-p', String(port), '-u', userInfo().username],
      (port) => isOpen(port),
    )
    const startStorage = (['account', 'container', 'object'] as const).map(async (kind) => {
      const { port } = await startServer(folder, programs[`swift-${kind}-server`], kind, () => ({
        'pipeline:main': { pipeline: `healthcheck ${kind}-server` },
        [`app:${kind}-server`]: { use: `egg:swift#${kind}` },
      }))
      await writeFile(join(folder.path, `${kind}.ring.gz`), ringOf(port))
    })
    const [memcached] = await Promise.all([startMemcached, ...startStorage])

    const secret = randomUUID()
    const program = programs['swift-proxy-server']
    const { port } = await startServer(folder, program, 'proxy', (port) => ({
      'pipeline:main': {
        pipeline:
          'catch_errors gatekeeper healthcheck cache s3api tempauth copy slo dlo versioned_writes proxy-server',
      },
      'app:proxy-server': { use: 'egg:swift#proxy', account_autocreate: 'true' },
      'filter:cache': { use: 'egg:swift#memcache', memcache_servers: `127.0.0.1:${memcached.port}` },
      // Without the first setting, a preflight is refused before the container's own settings count.
      'filter:s3api': { use: 'egg:swift#s3api', cors_preflight_allow_origin: '*' },
      'filter:tempauth': {
        use: 'egg:swift#tempauth',
        user_tests_owner: `${secret} .admin http://127.0.0.1:${port}/v1/AUTH_tests`,
      },
      ...Object.fromEntries(
        ['catch_errors', 'gatekeeper', 'copy', 'slo', 'dlo', 'versioned_writes'].map((name) => [
          `filter:${name}`,
          { use: `egg:swift#${name}` },
        ]),
      ),
    }))
    const url = `http://${encodeURIComponent('tests:owner')}:${secret}@127.0.0.1:${port}/`
    return { url, from: program, stop: () => folder.remove('SIGKILL') }
  })
}

/** Returns a ring file, which tells the proxy that this server has all data. `swift-ring-builder` needs seconds for it. */
function ringOf(port: number): Uint8Array {
  const address = { ip: '127.0.0.1', port, replication_ip: '127.0.0.1', replication_port: port }
  const description = {
    devs: [{ id: 0, region: 1, zone: 1, weight: 1, device: DEVICE, meta: '', ...address }],
    // One partition, of the whole 32 bits of a hash.
    part_shift: 32,
    replica_count: 1,
    byteorder: 'little',
    version: 1,
  }
  const json = Buffer.from(JSON.stringify(description))
  const head = Buffer.from('R1NG\0\x01\0\0\0\0', 'latin1')
  head.writeUInt32BE(json.length, 6)
  const deviceOfPartition = Buffer.from([0, 0])
  return gzipSync(Buffer.concat([head, json, deviceOfPartition]))
}

type Sections = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Starts a server with a private configuration file. */
function startServer(
  folder: PrivateFolder,
  program: string,
  kind: string,
  sectionsOf: (port: number) => Sections,
) {
  const file = join(folder.path, `${kind}-server.conf`)
  return folder.serveOnFreePort(
    program,
    async (port) => {
      const settings = {
        bind_ip: '127.0.0.1',
        bind_port: String(port),
        bind_timeout: '1',
        user: userInfo().username,
        // Serves in the process itself.
        workers: '0',
        swift_dir: folder.path,
        devices: join(folder.path, 'devices'),
        mount_check: 'false',
        fallocate_reserve: '0',
      }
      const healthcheck = { use: 'egg:swift#healthcheck' }
      await writeFile(
        file,
        ini({ DEFAULT: settings, ...sectionsOf(port), 'filter:healthcheck': healthcheck }),
      )
      return [file, '--verbose']
    },
    async (port) => {
      try {
        return (await fetch(`http://127.0.0.1:${port}/healthcheck`)).ok
      } catch {
        return false
      }
    },
  )
}

function ini(sections: Sections): string {
  return Object.entries(sections)
    .flatMap(([name, settings]) => [
      `[${name}]`,
      ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`),
    ])
    .join('\n')
}

/** Returns all programs, or `null` if one is missing. */
function installedPrograms(): Programs | null {
  const found = PROGRAMS.map((name) => [name, installedProgram(name)] as const)
  return found.every(([, path]) => path !== null) ? (Object.fromEntries(found) as Programs) : null
}
