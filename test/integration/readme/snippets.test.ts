import { expect, it } from 'vitest'
import { checks } from './checks/index.js'
import { longChecks } from './checks/long-checks.js'
import { describeSnippets } from './describe-snippets.js'
import { typeErrors } from './snippets.js'

const { workspace, snippets } = describeSnippets(checks)

it('finds the snippets', () => {
  expect(snippets.length).toBeGreaterThan(0)
})

it('has a unique file name on the first line of every snippet', () => {
  expect(snippets.filter(({ id }) => id === null).map(({ location }) => location)).toEqual([])
  const ids = snippets.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

it('has a check for every snippet, here or in the long runs', () => {
  const checked = new Set([checks, longChecks].flatMap(Object.keys))
  expect([...checked].sort()).toEqual(snippets.map(({ id }) => id).sort())
})

it('compiles every snippet', () => {
  const files = snippets.map(({ source }) => source)
  expect(typeErrors(workspace, files)).toEqual([])
})
