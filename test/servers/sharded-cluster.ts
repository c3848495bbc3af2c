import { onServer, responds, startMember, type Member } from './mongod.js'
import { freePort, privateFolder } from './private-server.js'

export interface ShardedCluster {
  /** The URL of the router. */
  readonly url: string
  /** The only member of each shard. */
  readonly shards: readonly Member[]
  remove(): Promise<void>
}

/** Starts a config server, two shards with one member each, and a router. */
export async function startShardedCluster(programs: {
  readonly mongod: string
  readonly mongos: string
}): Promise<ShardedCluster> {
  const folder = await privateFolder('mongos', null)

  async function startSet(name: string, role: '--configsvr' | '--shardsvr'): Promise<Member> {
    const settings = ['--replSet', name, role, '--wiredTigerCacheSizeGB', '0.25']
    const member = await startMember(folder, programs.mongod, name, settings)
    const config = {
      _id: name,
      ...(role === '--configsvr' && { configsvr: true }),
      members: [{ _id: 0, host: new URL(member.url).host }],
    }
    await onServer(member.url, (client) => client.db('admin').command({ replSetInitiate: config }))
    return member
  }

  try {
    const [config, ...shards] = await Promise.all([
      startSet('config', '--configsvr'),
      startSet('shard-0', '--shardsvr'),
      startSet('shard-1', '--shardsvr'),
    ])
    const port = await freePort()
    const url = `mongodb://127.0.0.1:${port}/`
    const location = ['--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket']
    await folder.serve(
      programs.mongos,
      [...location, '--configdb', `config/${new URL(config.url).host}`],
      () => responds(url),
    )
    for (const [index, { url: shard }] of shards.entries()) {
      const addShard = `shard-${index}/${new URL(shard).host}`
      await onServer(url, (client) => client.db('admin').command({ addShard }))
    }
    return { url, shards, remove: () => folder.remove('SIGINT') }
  } catch (error) {
    await folder.remove('SIGKILL')
    throw error
  }
}
