import type { StoreDriver } from '@svc/db/adapter'
import { expect } from 'vitest'
import { passingTests, run, type SnippetCheck, type SnippetChecks } from '../programs.js'

/** `my-adapter.test.ts` imports this driver and runs the suite on it. */
const isDriver: SnippetCheck = async (program) => {
  const { createToyDriver } = await run<{ createToyDriver: () => StoreDriver }>(program)
  expect(await createToyDriver().count({ scope: 'ann', statuses: ['active'] })).toBe(0)
}

export const writingAnAdapterChecks: SnippetChecks = {
  'docs/writing-an-adapter.md#toy-driver.ts': isDriver,
  'docs/writing-an-adapter.md#my-adapter.test.ts': passingTests(200),
}
