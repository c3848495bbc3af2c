// A module that exports what the library returned. With `declaration`, the compiler has to name the types.
import { createQuotaGuard, createS3Server, db, memoryStorage } from '@svc/db'
import { createStore } from '@svc/db/adapter'
import { createS3Client, dbClient } from '@svc/db/client'
import { diskStorage } from '@svc/db/disk'
import { memoryAdapter } from '@svc/db/memory'
import { createUploadQueue } from '@svc/db/uploads'

export const store = memoryAdapter()
export const storage = memoryStorage()
export const plugin = db({ client: store, resolveScope: () => 'ann' })
export const s3 = createS3Server({ storage, bucket: 'files', plugins: [plugin] })
export const { files } = s3
export const disk = (directory: string) => diskStorage({ directory })
export const own = (driver: Parameters<typeof createStore>[0]) => createStore(driver)
export const guard = createQuotaGuard
export const usage = () => store.getScopeUsage('ann')
export const { api } = createS3Client({ plugins: [dbClient()] })
export const upload = (file: File) => api.upload(file)
export const queue = createUploadQueue(api)
export const list = () => api.db.listObjects()
