// Uploads and downloads through the front end at a URL: in one PUT, and in parts.
import { createS3Client } from '@svc/db/client'

const [, , baseURL] = process.argv
const { api } = createS3Client({ baseURL, plugins: [] })
for (const size of [5, 16 * 1024 ** 2 + 1]) {
  const { key } = await api.upload(new File([new Uint8Array(size)], 'zeros'))
  const { url } = await api.download({ key })
  const { byteLength } = await (await fetch(url)).arrayBuffer()
  console.log(`${byteLength} bytes from ${new URL(url).origin === baseURL ? 'the front end' : url}`)
}
