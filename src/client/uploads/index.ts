export type * from './queued-upload.js'
export { createUploadQueue } from './upload-queue.js'
