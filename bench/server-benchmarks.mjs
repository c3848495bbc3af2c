import { importSource } from './own-source.mjs'

/**
 * The benchmarks that need a server. Each starts one of its own, because what a commit costs depends on settings that
 * others may have changed. `whyNot` says why one can't run here, or is `null`; where REQUIRE_SERVERS names its server,
 * that is no success.
 */
export async function serverBenchmarks() {
  const { isRequired } = await importSource('test/servers/found-server.ts')
  const { POSTGRES, embeddedBinaries, installedBinaries } = await importSource('test/servers/postgres.ts')
  const { MONGODB, installedMongod } = await importSource('test/servers/mongod.ts')
  const { REDIS, redisProgram } = await importSource('test/servers/redis.ts')
  const benchmark = (name, program, kind, isThere, leastRows) => ({
    name,
    program,
    // `null`: its size is fixed.
    leastRows,
    whyNot: isThere ? null : `There is no server to start: ${kind.howToGet}.`,
    isRequired: isRequired(kind.name),
  })
  const hasPostgres = (installedBinaries() ?? embeddedBinaries()) !== null
  return [
    benchmark('the Postgres adapter', 'postgres/run.mjs', POSTGRES, hasPostgres, 50_000),
    benchmark('the MongoDB adapter', 'mongo/run.mjs', MONGODB, installedMongod() !== null, 1000),
    benchmark('the bindings', 'http/run.mjs', POSTGRES, hasPostgres, null),
    benchmark('the usage cache', 'redis/run.mjs', REDIS, redisProgram() !== null && hasPostgres, null),
  ]
}
