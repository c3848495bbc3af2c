/** A handle that an application may pass by mistake, which is not the pool but leads to it. */
interface MistakenHandle {
  /** Continues "got …". */
  readonly name: string
  readonly advice: string
  readonly matches: (handle: Properties) => boolean
}

type Properties = Readonly<Record<string, unknown>>

const has = (handle: Properties, ...methods: readonly string[]) =>
  methods.every((method) => typeof handle[method] === 'function')

/** In this order, because some have the methods of others. Recognized by their methods, since none is a dependency. */
const MISTAKEN: readonly MistakenHandle[] = [
  {
    name: 'a Promise',
    advice: 'Await it first.',
    matches: (handle) => has(handle, 'then'),
  },
  {
    name: 'the function postgres of postgres.js',
    advice: 'Call it: postgres(url).',
    matches: (handle) => has(handle, 'PostgresError', 'toCamel') && !has(handle, 'unsafe'),
  },
  {
    name: 'a TypeORM DataSource',
    advice: 'Pass dataSource.driver.master, its pg Pool, after dataSource.initialize().',
    matches: (handle) => has(handle, 'createQueryRunner', 'getRepository'),
  },
  {
    name: 'a TypeORM QueryRunner',
    advice: 'Pass await queryRunner.connect(), its pg client.',
    matches: (handle) => has(handle, 'startTransaction', 'releasePostgresConnection'),
  },
  {
    name: 'a TypeORM EntityManager',
    advice: 'Pass await manager.queryRunner.connect() in a transaction, or dataSource.driver.master.',
    matches: (handle) => has(handle, 'getRepository', 'withRepository'),
  },
  {
    name: 'a knex instance',
    advice: 'Pass an object whose query() uses its connections: see docs/your-orm.md.',
    matches: (handle) => has(handle, 'raw', 'queryBuilder', 'transactionProvider'),
  },
  {
    name: 'a Sequelize instance',
    advice: 'Pass an object whose query() uses its connections: see docs/your-orm.md.',
    matches: (handle) => has(handle, 'getQueryInterface', 'define'),
  },
  {
    name: 'a Sequelize transaction',
    advice: 'Pass transaction.connection, its pg client.',
    matches: (handle) => has(handle, 'prepareEnvironment', 'rollback'),
  },
  {
    name: 'a Kysely instance',
    advice: 'Pass the pg Pool of its PostgresDialect.',
    matches: (handle) => has(handle, 'selectFrom', 'getExecutor'),
  },
  {
    name: 'a Prisma client',
    advice: 'Pass the pg Pool of its PrismaPg adapter.',
    matches: (handle) => has(handle, '$queryRaw', '$executeRaw'),
  },
  {
    name: 'a drizzle database',
    advice: 'Pass db.$client.',
    matches: (handle) => has(handle, 'selectDistinct') && Boolean(handle['$client']),
  },
  {
    name: 'a drizzle transaction',
    advice: 'Open the transaction on a client of the pool, and pass that client to both.',
    matches: (handle) => has(handle, 'selectDistinct', 'transaction'),
  },
  {
    name: 'the module pg',
    advice: 'Pass new pg.Pool(…).',
    matches: (handle) => has(handle, 'Pool', 'Client'),
  },
  {
    name: 'a class',
    advice: 'Pass an instance of it.',
    matches: (handle) =>
      typeof handle === 'function' && has(Object(handle['prototype']) as Properties, 'query'),
  },
  {
    name: 'a MongoDB database',
    advice: 'Use mongoAdapter from @svc/db/mongo.',
    matches: (handle) => has(handle, 'collection', 'command'),
  },
]

/** Recognizes a handle that leads to the pool, and returns `null` for any other value. */
export function mistakenHandle(handle: unknown): Omit<MistakenHandle, 'matches'> | null {
  if (handle === null || (typeof handle !== 'object' && typeof handle !== 'function')) {
    return typeof handle === 'string' ? CONNECTION_STRING : handle === undefined ? UNDEFINED : null
  }
  return MISTAKEN.find(({ matches }) => matches(handle as Properties)) ?? null
}

// Does not include the value, which can contain a password.
const CONNECTION_STRING = { name: 'a string', advice: 'Pass new pg.Pool({ connectionString }).' }
const UNDEFINED = { name: 'undefined', advice: 'Some ORMs have a pool only after they have connected.' }
