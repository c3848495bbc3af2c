import { createS3Client, dbClient } from '@svc/db/client'
const { api } = createS3Client({ baseURL: process.env.API, plugins: [dbClient()] })
export default async function Page() {
  const { objects } = await api.db.listObjects()
  return <p>{`files: ${objects.length};`}</p>
}
