/**
 * `@svc/db/adapter`: what an implementation of a database adapter or of an object storage needs.
 * Applications import from `@svc/db`.
 */

// Database adapters: implement `StoreDriver`, then pass it to `createStore`.
export { createAttemptId } from './core/store/attempt-id.js'
export { createStore, type CreateStoreOptions } from './core/store/create-store.js'
export type {
  AdoptResult,
  EndTemporaryResult,
  MigrateOptions,
  MigrationProgress,
  MigrationResult,
  StorageObjectStore,
} from './core/store/contract.js'
export type * from './core/store/outcomes.js'
export type {
  AdoptCommand,
  AdoptInput,
  ClaimEventsCommand,
  ClaimEventsInput,
  ConfirmCommand,
  ConfirmInput,
  CountEventsQuery,
  CountQuery,
  DeferLeftoverCommand,
  DeferLeftoverInput,
  EndedObject,
  EndedObjectInput,
  EndTemporaryCommand,
  EndTemporaryInput,
  EventClaim,
  EventSettlement,
  ExtendClaimInput,
  ExtendClaimsCommand,
  ExtendClaimsOptions,
  FindByIdInput,
  FindByIdQuery,
  FindInput,
  FindPendingInput,
  FindPendingMultipartInput,
  FindPendingMultipartQuery,
  FindPendingQuery,
  FindQuery,
  ForgetLeftoverInput,
  IterateByScopeInput,
  KeepCommand,
  KeepInput,
  KeptObject,
  KeptObjectInput,
  ListAllLeftoversInput,
  ListArrivedInput,
  ListArrivedQuery,
  ListByScopeInput,
  ListDueLeftoversInput,
  ListDueLeftoversQuery,
  ListEventsInput,
  ListEventsQuery,
  ListExpiredInput,
  ListExpiredQuery,
  ListLeftoversInput,
  ListLeftoversQuery,
  ListQuery,
  ListScopesInput,
  ListScopesQuery,
  ListStoredInput,
  ListStoredQuery,
  ListTemporaryInput,
  ListTemporaryQuery,
  PurgeDeletedBeforeInput,
  PurgeDeletedByIdInput,
  PurgeDeletedCommand,
  PurgeDeletedInput,
  PurgeExpiredCommand,
  PurgeExpiredInput,
  RejectCommand,
  RejectInput,
  ReleaseCommand,
  ReleaseInput,
  RemoveCommand,
  RemoveInput,
  ReserveCommand,
  ReserveInput,
  SetUploadIdCommand,
  SetUploadIdInput,
  SettleEventInput,
  SettleEventsCommand,
  TransferCommand,
  TransferInput,
  UpdateCommand,
  UpdateInput,
} from './core/store/inputs/index.js'
export type { QuotaLimits } from './core/store/validation/checks.js'
export type { StoreDriver } from './core/store/driver.js'
export * from './core/store/events.js'
export {
  hasExpired,
  isPastEnd,
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type Rejection,
  type TrackedRow,
  type Unchanged,
} from './core/store/lifecycle/change.js'
export {
  decide,
  outcomeOf,
  type Decision,
  type KeyWrite,
  type KeyWriteOutcome,
  type WriteState,
} from './core/store/lifecycle/decide.js'
export { attemptRow, receivesBytes, type PurgeCommand } from './core/store/lifecycle/plans.js'
export {
  refuseKeep,
  rowToKeep,
  type EndOneCommand,
  type KeepOneCommand,
} from './core/store/lifecycle/temporary.js'
export { refuseRejected } from './core/store/lifecycle/verdicts.js'
export { NO_USAGE, refuseGrowth, sameUsage, usageAfter } from './core/store/lifecycle/usage.js'
export type {
  Leftover,
  MetadataChanges,
  ObjectMetadata,
  ObjectPage,
  ObjectReference,
  ObjectStatus,
  Quota,
  ScopeSummary,
  ScopeUsage,
  StorageObject,
  StoredItem,
  UsageDifference,
} from './core/store/records.js'
export {
  ERROR_CODES,
  StorageError,
  type ErrorCode,
  type ErrorParams,
  type ErrorStatus,
  type StorageErrorOptions,
} from './core/errors.js'

// Object storages: implement `ObjectStorage`.
export type {
  ByteRange,
  BytesPage,
  BytesReference,
  CompleteMultipartInput,
  CreateMultipartInput,
  Disposition,
  Finding,
  FindingPart,
  ListBytesInput,
  ListedBytes,
  ListPartsInput,
  MultipartReference,
  MultipartStorage,
  ObjectStorage,
  PartsPage,
  ReadInput,
  RemoveBytesInput,
  SignDownloadInput,
  SignedDownload,
  SignedPart,
  SignedUpload,
  SignPartInput,
  SignUploadInput,
  StoredBytes,
  StoredPart,
  VerifyInput,
  WriteInput,
  WritePartInput,
} from './core/object-storage.js'

// Server plugins other than `db()`, and bindings to other frameworks.
export type {
  AcceptChange,
  InstalledPlugin,
  RecordChange,
  RecordKeeper,
  ServerEnvironment,
  ServerPlugin,
} from './core/plugin.js'
export type { PluginContexts } from './server/create-s3-server.js'
export type {
  DbConfirmInput,
  DbContext,
  DbKeepInput,
  DbReleaseInput,
  DbRemoveInput,
  DbReserveInput,
} from './core/db/db.js'
export type { DbUpdateInput } from './core/db/update.js'
export * from './core/http/endpoint.js'
export type { Query } from './core/http/query.js'
export type { HttpField, HttpFields, SentValues } from './core/http/fields.js'
export type { Handler, HandlerOptions } from './core/http/handler.js'
export type { Reply } from './core/http/response.js'
export type { JsonSchema, JsonValue } from './core/json.js'
export type { Report } from './core/reporter.js'
