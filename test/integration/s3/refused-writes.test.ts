import { expect, it } from 'vitest'
import { faultProxyTo } from './fault-proxy.js'
import { clientOf, describeS3 } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

const SCOPE = 'user:1'
const NOTHING = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

describeS3('files.put', (server) => {
  it.each([1, 9 * 1024 ** 2])('releases %d bytes if the bucket does not exist', async (size) => {
    const { s3, objects } = serviceOn(clientOf(server), 'no-such-bucket')
    const put = s3.files.put({ scope: SCOPE, route: 'files', body: new Uint8Array(size) })
    await expect(put).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await objects.getScopeUsage(SCOPE)).toEqual(NOTHING)
  })

  const proxy = faultProxyTo(server.endpoint)
  it('keeps the reservation if an earlier try may have stored the bytes', async () => {
    proxy.faults({ status: 500 }, { status: 403 }, 'none')
    const client = clientOf({ ...server, endpoint: proxy.endpoint })
    const { s3, objects } = serviceOn(client, 'no-such-bucket')
    const put = s3.files.put({ scope: SCOPE, route: 'files', body: 'hello' })
    await expect(put).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await objects.getScopeUsage(SCOPE)).toMatchObject({ reservedBytes: 5, reservedFiles: 1 })
  })
})
