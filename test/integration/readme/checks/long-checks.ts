import { passingTests, type SnippetChecks } from '../programs.js'
import { ownTableChecks } from './own-table.js'
import { erasesTenant } from './postgres.js'

/** The checks of the long runs: of snippets that start processes or a database of their own, have thousands of objects, or run the whole suite. */
export const longChecks: SnippetChecks = {
  'docs/writing-an-adapter.md#my-adapter.test.ts': passingTests(320),
  'docs/writing-an-adapter.md#my-races.test.ts': { onPostgres: passingTests(2) },
  'docs/testing-your-app.md#embedded.test.ts': passingTests(1),
  ...ownTableChecks,
  'docs/postgres.md#erase-tenant.ts': erasesTenant,
}
