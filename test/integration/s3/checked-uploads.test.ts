import { it } from 'vitest'
import { routes } from '../../unit/server/checks/checked.js'
import { decideUploads } from '../../unit/server/checks/on-storage.js'
import { bucketOfTest, clientOf, describeS3 } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

describeS3('checked uploads with s3Storage', (server) => {
  const client = clientOf(server)

  it('expose their bytes only to the scanner, and leave only accepted files', async () => {
    const service = serviceOn(client, await bucketOfTest(client), { routes })
    await decideUploads(service)
  })
})
