import type { SnippetChecks } from '../programs.js'
import { accountDeletionChecks } from './account-deletion.js'
import { adminChecks } from './admin.js'
import { attachmentsChecks } from './attachments.js'
import { browserClientChecks } from './browser-client.js'
import { cliChecks } from './cli.js'
import { conceptsChecks } from './concepts.js'
import { csrfChecks } from './csrf.js'
import { customRoutesChecks } from './custom-routes.js'
import { deployingChecks } from './deploying.js'
import { eventsChecks } from './events.js'
import { existingBucketsChecks } from './existing-buckets.js'
import { expressChecks } from './express.js'
import { fetchChecks } from './fetch.js'
import { filesChecks } from './files.js'
import { formsAndDraftsChecks } from './forms-and-drafts.js'
import { frontEndsChecks } from './front-ends.js'
import { gettingStartedChecks } from './getting-started.js'
import { honoChecks } from './hono.js'
import { httpApiChecks } from './http-api.js'
import { leavingChecks } from './leaving.js'
import { mongoChecks } from './mongo.js'
import { movingABucketChecks } from './moving-a-bucket.js'
import { nextjsChecks } from './nextjs.js'
import { observabilityChecks } from './observability.js'
import { postgresChecks } from './postgres.js'
import { quotasChecks } from './quotas.js'
import { readmeChecks } from './readme.js'
import { redisChecks } from './redis.js'
import { reportsChecks } from './reports.js'
import { s3Checks } from './s3.js'
import { sessionServerChecks } from './session-server.js'
import { sharingChecks } from './sharing.js'
import { sqliteChecks } from './sqlite.js'
import { storagesChecks } from './storages.js'
import { storeChecks } from './store.js'
import { teamsChecks } from './teams.js'
import { testingYourAppChecks } from './testing-your-app.js'
import { virusScanningChecks } from './virus-scanning.js'
import { workerChecks } from './workers.js'
import { writingAnAdapterChecks } from './writing-an-adapter.js'
import { yourOrmChecks } from './your-orm.js'

/** The check of every snippet, by document and file name. */
export const checks: SnippetChecks = {
  ...accountDeletionChecks,
  ...adminChecks,
  ...attachmentsChecks,
  ...browserClientChecks,
  ...cliChecks,
  ...conceptsChecks,
  ...csrfChecks,
  ...customRoutesChecks,
  ...deployingChecks,
  ...eventsChecks,
  ...existingBucketsChecks,
  ...expressChecks,
  ...fetchChecks,
  ...filesChecks,
  ...formsAndDraftsChecks,
  ...frontEndsChecks,
  ...gettingStartedChecks,
  ...honoChecks,
  ...httpApiChecks,
  ...leavingChecks,
  ...mongoChecks,
  ...movingABucketChecks,
  ...nextjsChecks,
  ...observabilityChecks,
  ...postgresChecks,
  ...quotasChecks,
  ...readmeChecks,
  ...redisChecks,
  ...reportsChecks,
  ...s3Checks,
  ...sessionServerChecks,
  ...sharingChecks,
  ...sqliteChecks,
  ...storagesChecks,
  ...storeChecks,
  ...teamsChecks,
  ...testingYourAppChecks,
  ...virusScanningChecks,
  ...workerChecks,
  ...writingAnAdapterChecks,
  ...yourOrmChecks,
}
