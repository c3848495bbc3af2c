// A server that signs uploads and downloads, and the plugin that records objects, owners and usage.
export { createS3Server, type S3Server, type S3ServerCore } from './server/create-s3-server.js'
export type { Close, CloseOptions } from './server/close.js'
export type {
  DeleteOptions,
  DownloadOptions,
  MultipartOptions,
  S3ServerOptions,
  UploadOptions,
} from './server/options.js'
export type {
  KeyContext,
  MetadataContext,
  MaxFileSizeFunction,
  MetadataFunction,
  UploadRoute,
  CheckOptions,
} from './server/upload-routes/options.js'
export { db, type DbPlugin } from './core/db/db.js'
export type {
  ActivatedEvent,
  DbHooks,
  DbOptions,
  DbUpdateOptions,
  DeletedEvent,
  RejectedEvent,
  QuotaSource,
  ReservedEvent,
} from './core/db/options.js'
export type { IsUsed } from './core/db/is-used.js'
export type { MayRead, MayReadContext } from './core/db/read-access.js'
export type { ReadOperation } from './core/plugin.js'
export type { ResolveScope } from './core/scope.js'

// Storage for development and tests. `@svc/db/s3` and `@svc/db/disk` have the others.
export { memoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.js'

// Guards for your own routes.
export {
  chainHooks,
  createObjectAccessGuard,
  createQuotaGuard,
  type AuthorizeContext,
  type Guard,
  type GuardContext,
  type ObjectAccessGuardOptions,
  type QuotaGuardOptions,
} from './core/guards.js'

// The check of a service.
export type { Verify, VerifyOptions } from './server/verify.js'

// Files without a browser.
export type { SizedBody, StreamedBody } from './server/files/byte-source.js'
export type { ServerFiles } from './server/files/files.js'
export type {
  AcceptFileInput,
  DeleteFileInput,
  DownloadURLInput,
  FileURL,
  GetFileInput,
  OpenFile,
  PutFileInput,
  PutProgress,
  RejectFileInput,
} from './server/files/inputs.js'

// Jobs.
export {
  cleanUp,
  type CleanUpOptions,
  type CleanUpOutcome,
  type CleanUpResult,
} from './server/jobs/clean-up.js'
export {
  checkStorage,
  type CheckStorageOptions,
  type CheckStorageResult,
} from './server/jobs/check-storage/check-storage.js'
export type { StorageDifference } from './server/jobs/check-storage/comparison.js'
export {
  deliverEvents,
  type DeliverEventsOptions,
  type DeliverEventsResult,
} from './server/jobs/deliver-events.js'
export {
  importObjects,
  type ImportObjectsOptions,
  type ImportObjectsResult,
} from './server/jobs/import-objects.js'
export type { ImportedItem, ImportSelection, SelectImport } from './server/jobs/import-selection.js'
export { runJobs, type JobRun, type RunDeliveryOptions, type RunJobsOptions } from './server/jobs/run-jobs.js'
export { endUploads, type EndUploadsOptions, type EndUploadsResult } from './server/jobs/end-uploads.js'
export { eraseScope, type EraseScopeOptions, type EraseScopeResult } from './server/jobs/erase-scope.js'
export {
  transferScope,
  type TransferScopeOptions,
  type TransferScopeResult,
} from './server/jobs/transfer-scope.js'
export type { JobFailure, JobOptions, JobProgress } from './server/jobs/job.js'
export type { EventHandler } from './server/events/delivery.js'
export type { EventContext } from './server/events/handler-context.js'

// Records, errors, and what is reported to operators.
export { createAttemptId } from './core/store/attempt-id.js'
export type { DbClientObject } from './core/store/records.js'
export {
  ERROR_CODES,
  StorageError,
  type ErrorBody,
  type ErrorCode,
  type ErrorParams,
  type StorageErrorOptions,
} from './core/errors.js'
export type { OperationEvent, OperationObserver, OperationResult } from './core/observer.js'
export type { ErrorContext, ErrorListener } from './core/reporter.js'

// HTTP: the Fetch handler and its OpenAPI document.
export type { Handler } from './core/http/handler.js'
export * from './core/openapi/document.js'

// The stores that adapters return, and the storages that servers take. `@svc/db/adapter` has what implementing them needs.
export type {
  AdoptResult,
  EndTemporaryResult,
  MigrateOptions,
  MigrationProgress,
  MigrationResult,
  StorageObjectStore,
} from './core/store/contract.js'
export type { EventCounts, EventPage, ListedEvent, StoredEvent } from './core/store/events.js'
export type {
  AdoptInput,
  ClaimEventsInput,
  ConfirmInput,
  EndTemporaryInput,
  FindByIdInput,
  FindInput,
  IterateByScopeInput,
  KeepInput,
  ListArrivedInput,
  ListByScopeInput,
  ListEventsInput,
  ListExpiredInput,
  ListLeftoversInput,
  ListScopesInput,
  ListTemporaryInput,
  PurgeDeletedInput,
  PurgeExpiredInput,
  RejectInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SettleEventInput,
  TransferInput,
  UpdateInput,
} from './core/store/inputs/index.js'
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
export type { Finding, FindingPart, ObjectStorage } from './core/object-storage.js'
