import { passingTests, type SnippetChecks } from '../programs.js'

export const testingYourAppChecks: SnippetChecks = {
  'docs/testing-your-app.md#expiry.test.ts': passingTests(1),
  'docs/testing-your-app.md#upload.test.ts': passingTests(1),
  'docs/testing-your-app.md#sessions.test.ts': passingTests(1),
  'docs/testing-your-app.md#retries.test.ts': passingTests(1),
  'docs/testing-your-app.md#events.test.ts': passingTests(1),
}
