export { createAttemptId } from './core/attempt-id.js'
export { createStore, type CreateStoreOptions } from './core/create-store.js'
export {
  db,
  type DbConfirmInput,
  type DbContext,
  type DbPlugin,
  type DbReleaseInput,
  type DbRemoveInput,
  type DbReserveInput,
} from './core/db/db.js'
export type {
  ActivatedEvent,
  DbHooks,
  DbOptions,
  DeletedEvent,
  QuotaSource,
  ReservedEvent,
} from './core/db/options.js'
export {
  ERROR_CODES,
  StorageError,
  type ErrorBody,
  type ErrorCode,
  type ErrorParams,
  type ErrorStatus,
  type StorageErrorOptions,
} from './core/errors.js'
export { chainHooks } from './core/guards/chain-hooks.js'
export type { Guard, GuardContext } from './core/guards/guard.js'
export {
  createObjectAccessGuard,
  type AuthorizeContext,
  type ObjectAccessGuardOptions,
} from './core/guards/object-access-guard.js'
export { createQuotaGuard, type QuotaGuardOptions } from './core/guards/quota-guard.js'
export type {
  DescribedAnswer,
  EndpointDescription,
  JsonSchema,
  JsonValue,
  QueryParameter,
} from './core/http/endpoint-description.js'
export type { Handler, HandlerOptions } from './core/http/handler.js'
export {
  openApiDocument,
  type OpenApiDocument,
  type OpenApiOperation,
  type OpenApiOptions,
} from './core/openapi/document.js'
export type { InstalledPlugin, RecordKeeper, ServerEnvironment, ServerPlugin } from './core/plugin.js'
export type {
  DbClientObject,
  Leftover,
  ObjectMetadata,
  ObjectPage,
  ObjectReference,
  ObjectStatus,
  Quota,
  ScopeUsage,
  StorageObject,
  UsageDifference,
} from './core/records.js'
export type { OperationEvent, OperationObserver, OperationResult } from './core/observer.js'
export type { ErrorContext, ErrorListener } from './core/reporter.js'
export type { ResolveScope } from './core/scope.js'
export type * from './core/store-driver.js'
export type * from './core/store.js'
export {
  cleanUp,
  type CleanUpOptions,
  type CleanUpResult,
  type LeftoverOutcome,
  type ReservationOutcome,
} from './server/clean-up/clean-up.js'
export {
  createS3Server,
  type PluginContexts,
  type S3Server,
  type S3ServerCore,
} from './server/create-s3-server.js'
export type {
  BytesReference,
  CompleteMultipartInput,
  CreateMultipartInput,
  ListPartsInput,
  MultipartReference,
  MultipartStorage,
  ObjectStorage,
  PartsPage,
  SignDownloadInput,
  SignPartInput,
  SignUploadInput,
  SignedDownload,
  SignedPart,
  SignedUpload,
  StoredBytes,
  StoredPart,
} from './server/object-storage.js'
export type {
  DeleteOptions,
  DownloadOptions,
  MultipartOptions,
  S3ServerOptions,
  UploadOptions,
} from './server/options/server-options.js'
export type { KeyContext, UploadRoute } from './server/options/upload-routes.js'
export { memoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.js'
