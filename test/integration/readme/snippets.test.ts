import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createDatabase, type FreshDatabase } from '../../servers/fresh-database.js'
import { checkDocsSnippets } from './docs-snippet-checks.js'
import { checkPostgresSnippets } from './postgres-snippet-checks.js'
import type { SnippetChecks } from './programs.js'
import { checkReadmeSnippets } from './readme-snippet-checks.js'
import { closeServers } from './running-servers.js'
import { buildPrograms, closeWorkshop, openWorkshop, typeErrors, writeSnippets } from './snippets.js'

const workshop = openWorkshop()
const snippets = writeSnippets(workshop)
const checks: SnippetChecks = { ...checkReadmeSnippets, ...checkDocsSnippets, ...checkPostgresSnippets }
const server = inject('postgres')
let database: FreshDatabase | undefined

beforeAll(async () => {
  // Every server of a snippet takes a free port.
  vi.stubEnv('PORT', '0')
  vi.stubEnv('DATA_FOLDER', join(workshop, 'database'))
  vi.stubEnv('FILES_FOLDER', join(workshop, 'files'))
  if (server.url !== null) {
    database = await createDatabase(server.url)
    for (const name of ['DATABASE_URL', 'DATABASE_OWNER_URL', 'REPLICA_URL']) vi.stubEnv(name, database.url)
  }
  await buildPrograms(workshop, snippets)
})

afterAll(async () => {
  await closeServers()
  // What still has a connection loses it, and has a listener for that.
  await database?.drop()
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
    skip(server.url === null, server.url === null ? server.reason : undefined)
    await check.onPostgres(program)
  })
})
