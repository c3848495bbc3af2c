import { importSource } from './own-source.mjs'

/**
 * Returns the benchmarks that run in a process of their own. Each that needs a server starts a private one, because the cost of a commit depends on its
 * settings. `whyNot` says why a benchmark can't run here, or is `null`. `isRequired` is set if REQUIRE_SERVERS names
 * its server.
 */
export async function serverBenchmarks() {
  const { isRequired } = await importSource('test/servers/found-server.ts')
  const { POSTGRES, embeddedBinaries, installedBinaries } = await importSource('test/servers/postgres.ts')
  const { MONGODB, installedMongod, installedMongos } = await importSource('test/servers/mongod.ts')
  const { CHROMIUM, chromiumProgram } = await importSource('test/servers/chromium.ts')
  const { REDIS, redisProgram } = await importSource('test/servers/redis.ts')
  const benchmark = (name, program, kind, isInstalled, leastRows) => ({
    name,
    program,
    // `null` if its size is fixed.
    leastRows,
    whyNot: isInstalled ? null : `No server found: ${kind.howToGet}.`,
    isRequired: isRequired(kind.name),
  })
  const hasPostgres = (installedBinaries() ?? embeddedBinaries()) !== null
  return [
    {
      name: 'the cold start',
      program: 'cold-start/run.mjs',
      leastRows: null,
      whyNot: null,
      isRequired: false,
    },
    benchmark('the Postgres adapter', 'postgres/run.mjs', POSTGRES, hasPostgres, 50_000),
    benchmark('Postgres beside an old snapshot', 'postgres/old-snapshot.mjs', POSTGRES, hasPostgres, null),
    benchmark(
      'lists beside dead entries in Postgres',
      'postgres/dead-entries.mjs',
      POSTGRES,
      hasPostgres,
      null,
    ),
    benchmark('temporary objects in Postgres', 'postgres/temporary.mjs', POSTGRES, hasPostgres, null),
    benchmark('checked uploads on Postgres', 'postgres/checked-uploads.mjs', POSTGRES, hasPostgres, null),
    benchmark('the MongoDB adapter', 'mongo/run.mjs', MONGODB, installedMongod() !== null, 1000),
    benchmark(
      'MongoDB beside an old snapshot',
      'mongo/old-snapshot.mjs',
      MONGODB,
      installedMongod() !== null,
      null,
    ),
    {
      ...benchmark('mongos', 'mongo/sharded.mjs', MONGODB, installedMongod() !== null, null),
      // Not part of the servers that tests can require.
      ...(installedMongos() === null && {
        whyNot: 'No router found: put the mongos of the same MongoDB on PATH.',
        isRequired: false,
      }),
    },
    {
      name: 'the SQLite adapter',
      program: 'sqlite/run.mjs',
      leastRows: null,
      whyNot: null,
      isRequired: false,
    },
    {
      name: 'hostile requests',
      program: 'http/hostile.mjs',
      leastRows: null,
      whyNot: null,
      isRequired: false,
    },
    benchmark('the bindings', 'http/run.mjs', POSTGRES, hasPostgres, null),
    benchmark('the usage cache', 'redis/run.mjs', REDIS, redisProgram() !== null && hasPostgres, null),
    benchmark('the browser client', 'client/run.mjs', CHROMIUM, chromiumProgram() !== null, null),
  ]
}
