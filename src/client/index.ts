export type { ErrorCode, ErrorParams } from '../core/errors.js'
export type { DbClientObject, ObjectPage, ObjectStatus, ScopeUsage } from '../core/store/records.js'
export type { ApiRequest, ApiRequestOptions, ClientHeaders, ObjectId, ObjectLocation } from './api-request.js'
export type { CallOptions } from './call-options.js'
export { S3ClientError, type S3ClientErrorCode, type S3ClientErrorOptions } from './client-error.js'
export {
  createS3Client,
  type ClientPlugin,
  type DownloadLink,
  type FileOptions,
  type PluginApis,
  type S3Api,
  type S3Client,
  type S3ClientOptions,
} from './create-client.js'
export {
  dbClient,
  type DbApi,
  type GetObjectOptions,
  type ListObjectsOptions,
  type UsageAndQuota,
} from './db-plugin.js'
export type { SettledUploads, UnfinishedUpload } from './upload/unfinished.js'
export type { UploadOptions, UploadProgress, UploadState } from './upload/upload-request.js'
