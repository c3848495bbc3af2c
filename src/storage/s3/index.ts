export { s3Storage } from './s3-storage.js'
export type { S3StorageOptions } from './storage-options.js'
