import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MongoClient, type Document } from 'mongodb'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { startInFolder, type PrivateFolder } from './private-server.js'

export const MONGODB: ServerKind = {
  name: 'mongodb',
  variable: 'TEST_MONGODB_URL',
  howToGet:
    'put a mongod of MongoDB 5.0 or later on PATH, or let the npm package mongodb-memory-server-core download one',
  ways: [
    async () => {
      const program = installedMongod()
      return program === null ? null : asServer(program, program)
    },
    async () => {
      const { MongoBinary } = await import('mongodb-memory-server-core')
      return asServer(await MongoBinary.getPath({}), 'mongodb-memory-server-core')
    },
  ],
}

/** One member of a private replica set. */
export interface Member {
  /** Connects to this member only. */
  readonly url: string
  /** The process, which is another one after a restart. */
  readonly pid: number
  /** Kills the process with SIGKILL and resolves once it is gone. */
  kill(): Promise<void>
  /** Restarts it with the same data and port, and resolves once it responds. */
  restart(): Promise<void>
}

export interface ReplicaSet {
  readonly url: string
  readonly members: readonly Member[]
  remove(): Promise<void>
}

export interface ReplicaSetOptions {
  readonly members: number
  /** Whether writes are acknowledged only once they are on disk. Default: `true`. */
  readonly durable?: boolean
  /** Milliseconds without a primary before an election. Default: 10 s, MongoDB's own. */
  readonly electionTimeout?: number
  /** Cache of each member. Default: 0.25. MongoDB's own default is half of the memory. */
  readonly cacheGigabytes?: number
  /** Whether clients must authenticate. A local client may create the first user. Default: `false`. */
  readonly signIn?: boolean
  /** Seconds after which every member ends a transaction that its client has abandoned. Default: 60, MongoDB's own. */
  readonly transactionSeconds?: number
  /** Whether members accept `configureFailPoint`. Default: `false`. */
  readonly failPoints?: boolean
  /** Returns the host by which clients and the other members reach a member. Default: its own. */
  readonly advertise?: (host: string) => Promise<string>
}

const NAME = 'tests'
/** Milliseconds that clients wait for a server, because the tests' own limit ends what hangs. */
const NO_LIMIT = 3_600_000

export const installedMongos = () => installedProgram('mongos')

async function asServer(program: string, from: string): Promise<RunningServer> {
  // Not durable, because the data is removed after the tests.
  const set = await startReplicaSet(program, {
    members: 1,
    durable: false,
    // As docs/mongo.md recommends, because processes that tests kill leave transactions open.
    transactionSeconds: 15,
  })
  return { url: set.url, from, stop: () => set.remove() }
}

export async function startReplicaSet(
  program: string,
  {
    members: count,
    durable = true,
    electionTimeout,
    cacheGigabytes = 0.25,
    signIn = false,
    transactionSeconds,
    failPoints = false,
    advertise = (host) => Promise.resolve(host),
  }: ReplicaSetOptions,
): Promise<ReplicaSet> {
  return startInFolder('mongod', null, async (folder) => {
    const settings = ['--replSet', NAME, '--wiredTigerCacheSizeGB', String(cacheGigabytes)]
    if (signIn) settings.push('--auth', '--keyFile', await writeKeyFile(folder))
    if (failPoints) settings.push(...ALLOW_FAIL_POINTS)
    if (transactionSeconds !== undefined) settings.push(...endTransactionsAfter(transactionSeconds))
    const members: Member[] = []
    for (let i = 0; i < count; i++) members.push(await startMember(folder, program, `data-${i}`, settings))
    const hosts = await Promise.all(members.map(({ url }) => advertise(new URL(url).host)))
    const config = {
      _id: NAME,
      writeConcernMajorityJournalDefault: durable,
      members: hosts.map((host, _id) => ({ _id, host })),
      ...(electionTimeout !== undefined && { settings: { electionTimeoutMillis: electionTimeout } }),
    }
    await onServer(members[0]!.url, (client) => client.db('admin').command({ replSetInitiate: config }))
    const url = `mongodb://${hosts.join(',')}/?replicaSet=${NAME}`
    await untilPrimary(url)
    return { url, members, remove: () => folder.remove('SIGINT') }
  })
}

/** Starts a server that is not part of a replica set. */
export async function startStandalone(program: string): Promise<RunningServer> {
  return startInFolder('mongod', null, async (folder) => {
    const { url } = await startMember(folder, program, 'data', ['--wiredTigerCacheSizeGB', '0.25'])
    return { url, from: program, stop: () => folder.remove('SIGINT') }
  })
}

/** The setting of a member that makes it accept `configureFailPoint`. */
export const ALLOW_FAIL_POINTS = ['--setParameter', 'enableTestCommands=1'] as const

/** Returns the setting of a member that limits how long a transaction may stay open. */
export function endTransactionsAfter(seconds: number): readonly string[] {
  return ['--setParameter', `transactionLifetimeLimitSeconds=${seconds}`]
}

/** Writes the key with which members authenticate to each other. */
async function writeKeyFile(folder: PrivateFolder): Promise<string> {
  const file = join(folder.path, 'key')
  await writeFile(file, randomBytes(48).toString('base64'), { mode: 0o600 })
  return file
}

/** Starts a server with a data folder of this name. */
export async function startMember(
  folder: PrivateFolder,
  program: string,
  name: string,
  more: readonly string[],
): Promise<Member> {
  const data = join(folder.path, name)
  await mkdir(data)
  const settings = ['--dbpath', data, '--bind_ip', '127.0.0.1', '--nounixsocket', ...more]
  const urlOf = (port: number) => `mongodb://127.0.0.1:${port}/?directConnection=true`
  const server = await folder.serveOnFreePort(
    program,
    (port) => ['--port', String(port), ...settings],
    (port) => responds(urlOf(port)),
  )
  return {
    url: urlOf(server.port),
    get pid() {
      return server.pid
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
  }
}

/** Returns whether a server responds. */
export async function responds(url: string): Promise<boolean> {
  try {
    await onServer(url, (client) => client.db('admin').command({ ping: 1 }))
    return true
  } catch {
    return false
  }
}

export async function onServer<T>(url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: NO_LIMIT })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

async function untilPrimary(url: string): Promise<void> {
  await onServer(url, async (client) => {
    for (;;) {
      const hello: Document = await client.db('admin').command({ hello: 1 })
      if (hello['isWritablePrimary'] === true) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
}

export function installedMongod(): string | null {
  return installedProgram('mongod')
}
