import {
  ALLOW_FAIL_POINTS,
  endTransactionsAfter,
  onServer,
  responds,
  startMember,
  type Member,
} from './mongod.js'
import { startInFolder } from './private-server.js'

export interface ShardedCluster {
  /** The URL of the router. */
  readonly url: string
  /** The only member of each shard. */
  readonly shards: readonly Member[]
  /** Starts another router and returns its URL. */
  addRouter(): Promise<string>
  remove(): Promise<void>
}

export interface ShardedClusterOptions {
  /** Paths of programs. */
  readonly mongod: string
  readonly mongos: string
  /** Milliseconds between two writes of the journal, for which some reads wait. Default: 100, MongoDB's own. */
  readonly journalInterval?: number
  /** Whether shards accept `configureFailPoint`. Default: `false`. */
  readonly failPoints?: boolean
  /** Seconds for which a process or a shard that is killed leaves transactions open. Default: 5. MongoDB's own default: 60. */
  readonly transactionSeconds?: number
}

/** How long a move of a chunk waits for the locks of other calls. MongoDB's own 500 ms are too short on a busy machine. */
const MOVES_WAIT = ['--setParameter', 'migrationLockAcquisitionMaxWaitMS=30000'] as const

/** Starts a config server, two shards with one member each, and a router. */
export async function startShardedCluster({
  mongod,
  mongos,
  journalInterval,
  failPoints = false,
  transactionSeconds = 5,
}: ShardedClusterOptions): Promise<ShardedCluster> {
  return startInFolder('mongos', null, async (folder) => {
    async function startSet(name: string, role: '--configsvr' | '--shardsvr'): Promise<Member> {
      const settings = ['--replSet', name, role, '--wiredTigerCacheSizeGB', '0.25', ...MOVES_WAIT]
      settings.push(...endTransactionsAfter(transactionSeconds))
      if (failPoints) settings.push(...ALLOW_FAIL_POINTS)
      if (journalInterval !== undefined) settings.push('--journalCommitInterval', String(journalInterval))
      const member = await startMember(folder, mongod, name, settings)
      const config = {
        _id: name,
        ...(role === '--configsvr' && { configsvr: true }),
        members: [{ _id: 0, host: new URL(member.url).host }],
      }
      await onServer(member.url, (client) => client.db('admin').command({ replSetInitiate: config }))
      return member
    }

    const [config, ...shards] = await Promise.all([
      startSet('config', '--configsvr'),
      startSet('shard-0', '--shardsvr'),
      startSet('shard-1', '--shardsvr'),
    ])
    const configdb = `config/${new URL(config.url).host}`
    const settings = ['--bind_ip', '127.0.0.1', '--nounixsocket', '--configdb', configdb]
    const urlOf = (port: number) => `mongodb://127.0.0.1:${port}/`
    const addRouter = async () => {
      const { port } = await folder.serveOnFreePort(
        mongos,
        (port) => ['--port', String(port), ...settings],
        (port) => responds(urlOf(port)),
      )
      return urlOf(port)
    }
    const url = await addRouter()
    for (const [index, { url: shard }] of shards.entries()) {
      const addShard = `shard-${index}/${new URL(shard).host}`
      await onServer(url, (client) => client.db('admin').command({ addShard }))
    }
    // After a softer signal, a router would wait for its clients.
    return { url, shards, addRouter, remove: () => folder.remove('SIGKILL') }
  })
}
