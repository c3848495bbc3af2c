export type { ErrorCode, ErrorParams } from '../core/errors.js'
export type { DbClientObject, ObjectPage, ObjectStatus } from '../core/store/records.js'
export type { ApiRequest, ApiRequestOptions, ClientHeaders } from './api-request.js'
export { S3ClientError, type S3ClientErrorCode, type S3ClientErrorOptions } from './client-error.js'
export {
  createS3Client,
  type ClientPlugin,
  type DownloadLink,
  type ObjectLocation,
  type PluginApis,
  type S3Api,
  type S3Client,
  type S3ClientOptions,
} from './create-client.js'
export { dbClient, type DbApi, type GetObjectOptions, type ListObjectsOptions } from './db-plugin.js'
export type { UploadOptions, UploadProgress } from './upload/upload-request.js'
