import { passingTests, type SnippetChecks } from '../programs.js'

export const writingAnAdapterChecks: SnippetChecks = {
  'docs/writing-an-adapter.md#my-adapter.test.ts': passingTests(50),
}
