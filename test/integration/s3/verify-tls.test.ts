import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { Agent, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import { expect, it, onTestFinished } from 'vitest'
import { createAuthority, OPENSSL } from '../../servers/certificates.js'
import { findServer } from '../../servers/found-server.js'
import { privateFolder } from '../../servers/private-server.js'
import { findingsOf, only } from './findings.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const openssl = await findServer(OPENSSL)

describeS3('s3.verify over TLS', (server) => {
  const bucket = freshBucket(clientOf(server))

  /** Starts a proxy with a certificate in front of the service. Returns its endpoint and the certificate of its CA. */
  async function secureEndpoint(program: string) {
    const folder = await privateFolder('certificates', null)
    onTestFinished(() => folder.remove('SIGTERM'))
    const authority = await createAuthority(program, folder)
    const { certificate, key } = await authority.sign('localhost', 30)
    const { hostname, port } = new URL(server.endpoint)
    const front = createServer(
      { cert: readFileSync(certificate), key: readFileSync(key) },
      (incoming, outgoing) => {
        const { method, url: path, headers } = incoming
        const forwarded = request({ hostname, port, method, path, headers }, (response) => {
          outgoing.writeHead(response.statusCode!, response.headers)
          response.pipe(outgoing)
        })
        incoming.pipe(forwarded)
      },
    )
    await new Promise<void>((resolve) => front.listen(0, 'localhost', resolve))
    onTestFinished(() => {
      front.closeAllConnections()
      front.close()
    })
    const ca = readFileSync(authority.certificate)
    return { endpoint: `https://localhost:${(front.address() as AddressInfo).port}`, ca }
  }

  it.skipIf('reason' in openssl)(
    'names a CA that is not trusted, and reaches URLs by that of the client',
    async () => {
      const { endpoint, ca } = await secureEndpoint('url' in openssl ? openssl.url : '')
      const found = (config: S3ClientConfig) => {
        const client = clientOf({ ...server, endpoint }, { maxAttempts: 1, ...config })
        return findingsOf(client, bucket, { server: { upload: false, multipart: false } })
      }
      expect(await found({})).toEqual(only('bucket', /certificate .* is not accepted: add its CA/))
      expect(await found({ requestHandler: { httpsAgent: new Agent({ ca }) } })).toEqual([])
    },
  )
})
