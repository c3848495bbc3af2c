import type { SelectImport } from '@svc/db'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

/** The command itself runs with this module in the test of the page's examples. */
const selectsOwners: SnippetCheck = async (program) => {
  const { default: select } = await run<{ readonly default: SelectImport }>(program)
  const item = { bucket: 'uploads', size: 1, eTag: null, lastModified: new Date() }
  expect(select({ ...item, key: 'users/42/a.txt' })).toEqual({ scope: 'user:42' })
  expect(select({ ...item, key: 'logs/today' })).toBeNull()
}

export const cliChecks: SnippetChecks = {
  'docs/cli.md#owners.mjs': selectsOwners,
}
