import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createDatabase, type FreshDatabase } from '../../servers/fresh-database.js'
import { installedMongod } from '../../servers/mongod.js'
import { checks } from './checks/index.js'
import { openMongoDatabase } from './checks/mongo.js'
import type { ServerCheck, SnippetCheck } from './programs.js'
import { closeServers } from './running-servers.js'
import { buildPrograms, closeWorkshop, openWorkshop, typeErrors, writeSnippets } from './snippets.js'

const workshop = openWorkshop()
const snippets = writeSnippets(workshop)
const postgres = inject('postgres')
const mongodb = inject('mongodb')
let database: FreshDatabase | undefined
const mongoDatabase = mongodb.url === null ? null : openMongoDatabase(mongodb.url)

beforeAll(async () => {
  // Every server of a snippet takes a free port.
  vi.stubEnv('PORT', '0')
  vi.stubEnv('DATA_FOLDER', join(workshop, 'database'))
  vi.stubEnv('FILES_FOLDER', join(workshop, 'files'))
  if (postgres.url !== null) {
    database = await createDatabase(postgres.url)
    for (const name of ['DATABASE_URL', 'DATABASE_OWNER_URL', 'REPLICA_URL']) vi.stubEnv(name, database.url)
  }
  if (mongoDatabase) {
    for (const name of ['MONGODB_URL', 'MONGODB_OWNER_URL']) vi.stubEnv(name, mongoDatabase.url)
  }
  await buildPrograms(workshop, snippets)
})

afterAll(async () => {
  await closeServers()
  // What still has a connection loses it, and has a listener for that.
  await database?.drop()
  await mongoDatabase?.drop()
  vi.unstubAllEnvs()
  closeWorkshop(workshop)
})

it('finds the snippets', () => {
  expect(snippets.length).toBeGreaterThan(0)
})

it('has a file name on the first line of every snippet, which no other of its document has', () => {
  expect(snippets.filter(({ id }) => id === null).map(({ place }) => place)).toEqual([])
  const ids = snippets.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

it('has a check for every snippet, and no check without one', () => {
  expect(Object.keys(checks).sort()).toEqual(snippets.map(({ id }) => id).sort())
})

it('compiles every snippet', () => {
  expect(typeErrors(workshop, snippets)).toEqual([])
}, 60_000)

describe('runs', () => {
  it.for(snippets)('$id', { timeout: 60_000 }, async ({ id, program }, { skip }) => {
    const check = id === null ? undefined : checks[id]
    if (!check) throw new Error('A snippet that nothing checks may be wrong: add a check for it.')
    if (typeof check === 'function') return check(program)
    const { onServer, whyNot } = needsOf(check)
    skip(whyNot !== null, whyNot ?? undefined)
    await onServer(program)
  })
})

/** The check, and why its server is not to be had, if it isn't. */
function needsOf(check: ServerCheck): { onServer: SnippetCheck; whyNot: string | null } {
  const reasonOf = (server: typeof postgres) => (server.url === null ? server.reason : null)
  if ('onPostgres' in check) return { onServer: check.onPostgres, whyNot: reasonOf(postgres) }
  if ('onMongo' in check) return { onServer: check.onMongo, whyNot: reasonOf(mongodb) }
  const whyNot = installedMongod() === null ? 'It starts a mongod of its own, and none is on PATH.' : null
  return { onServer: check.onOwnMongod, whyNot }
}
