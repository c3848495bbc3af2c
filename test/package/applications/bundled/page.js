// The browser code of an application. The bundles run in Node, whose test gives them the API as `fetch`.
import { createS3Client, dbClient, S3ClientError } from '@svc/db/client'

const { api } = createS3Client({
  baseURL: 'http://app.test',
  plugins: [dbClient()],
  fetch: globalThis.fetchOfApplication,
})

globalThis.page = (async () => {
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  const { objects } = await api.db.listObjects()
  const error = await api.delete({ key: 'missing' }).catch((thrown) => thrown)
  return {
    filenames: objects.filter((object) => object.key === key).map(({ filename }) => filename),
    code: error instanceof S3ClientError ? error.code : String(error),
  }
})()
