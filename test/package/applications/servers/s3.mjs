// The server that each program mounts. It listens on `PORT` at `HOST`.
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

export const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: ({ headers }) => headers.get('x-user') })],
})
