import { createS3Client, dbClient, type DbApi, type S3Api } from '@svc/db/client'
import { currentUser, headersFor } from './requests.js'

export type Api = S3Api & { readonly db: DbApi }

const apis = new Map<string | null, Api>()

/**
 * Returns the API of the user whom this window shows. Each user has a separate client: what was started for one, such as an upload,
 * never ends up with another whom the window shows later.
 */
export function currentApi(): Api {
  const user = currentUser()
  const known = apis.get(user)
  if (known) return known
  const { api } = createS3Client({ plugins: [dbClient()], account: user, headers: headersFor(user) })
  apis.set(user, api)
  return api
}
