// The browser code of an application. The bundles run in Node, whose test gives them the API as `fetch`.
import { createS3Client, dbClient, S3ClientError } from '@svc/db/client'
import { createUploadQueue } from '@svc/db/uploads'

const { api } = createS3Client({
  baseURL: 'http://app.test',
  plugins: [dbClient()],
  fetch: globalThis.fetchOfApplication,
})

/** Uploads a file with a queue. Resolves to its object. */
function stored(file) {
  const queue = createUploadQueue(api)
  queue.add(file)
  return new Promise((resolve) => {
    queue.subscribe(() => {
      const [{ object }] = queue.getSnapshot().items
      if (object) resolve(object)
    })
  })
}

globalThis.page = (async () => {
  const { key } = await stored(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  const { objects } = await api.db.listObjects()
  const error = await api.delete({ key: 'missing' }).catch((thrown) => thrown)
  return {
    filenames: objects.filter((object) => object.key === key).map(({ filename }) => filename),
    code: error instanceof S3ClientError ? error.code : String(error),
  }
})()
