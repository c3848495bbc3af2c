import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { checkDocsSnippets } from './docs-snippet-checks.js'
import { checkReadmeSnippets } from './readme-snippet-checks.js'
import { closeServers } from './running-servers.js'
import { buildPrograms, closeWorkshop, openWorkshop, typeErrors, writeSnippets } from './snippets.js'

const workshop = openWorkshop()
const snippets = writeSnippets(workshop)
const checks = { ...checkReadmeSnippets, ...checkDocsSnippets }

beforeAll(async () => {
  // Every server of a snippet takes a free port.
  vi.stubEnv('PORT', '0')
  await buildPrograms(workshop, snippets)
})

afterAll(async () => {
  await closeServers()
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
  it.each(snippets)(
    '$id',
    async ({ id, program }) => {
      const check = id === null ? undefined : checks[id]
      if (!check) throw new Error('A snippet that nothing checks may be wrong: add a check for it.')
      await check(program)
    },
    60_000,
  )
})
