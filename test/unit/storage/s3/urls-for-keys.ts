import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

export const NOW = new Date('2026-01-02T03:04:05.678Z')
export const expiresAt = new Date(NOW.getTime() + 900_000)
/** Only storages that serve bytes themselves use it. */
export const serverURL = 'https://app.example/s3'
export const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }

/** Sets the time, which is part of URLs. */
export function atOneTime(): void {
  beforeEach(() => {
    vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true')
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: NOW })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllEnvs()
  })
}

export const clientOf = (config: S3ClientConfig = {}) =>
  new S3Client({ region: 'eu-west-1', credentials, ...config })

/** Returns a function that tells whether the SDK has built a request since its last call. */
function watchBuilding(client: S3Client): () => boolean {
  const endpointProvider = vi.spyOn(client.config, 'endpointProvider')
  return () => {
    const hasBuilt = endpointProvider.mock.calls.length > 0
    endpointProvider.mockClear()
    return hasBuilt
  }
}

/** Every code point below 0x250, a few of the higher planes, and what encoders treat specially. */
const KEYS = [
  ...[0, 0x128].map((from) => String.fromCodePoint(...Array.from({ length: 0x128 }, (_, at) => from + at))),
  'a/b//c/',
  '/a',
  'a/...',
  '.a/b.',
  '%2e%2E/%/+ &=?#',
  "!'()*-._~",
  '\u{fffd}\u{ffff}/\u{1f600}/\u{10ffff}',
  'x'.repeat(1024),
]

type Signing = (storage: ReturnType<typeof s3Storage>, bucket: string, key: string) => Promise<string>

export const signings: readonly [string, Signing][] = [
  [
    'signUpload',
    async (storage, bucket, key) =>
      (
        await storage.signUpload({
          ...{ bucket, key, serverURL, expiresAt, size: key.length, filename: 'a' },
          ...{ contentType: `text/plain; a="${key.length}"`, attemptId: `attempt-${key.length}` },
        })
      ).url,
  ],
  [
    'signPart',
    async (storage, bucket, key) => {
      const part = { partNumber: key.length + 1, size: key.length, uploadId: `~/+ ${key.length}` }
      return (await storage.multipart!.signPart({ bucket, key, serverURL, expiresAt, ...part })).url
    },
  ],
  [
    'signDownload',
    async (storage, bucket, key) => {
      const terms = { filename: `a'(${key.length})*!.txt`, contentType: 'text/plain', signedAt: NOW }
      const cacheControl = key.length % 2 ? 'private, max-age=60' : undefined
      return (await storage.signDownload({ bucket, key, serverURL, expiresAt, ...terms, cacheControl })).url
    },
  ],
]

const clients: readonly [string, S3ClientConfig, string][] = [
  ['AWS', {}, 'bucket'],
  ['path style', { forcePathStyle: true }, 'bucket'],
  ['a bucket with dots', {}, 'my.bucket.name'],
  ['another region', { region: 'us-east-1' }, 'bucket'],
  ['dual stack', { useDualstackEndpoint: true }, 'bucket'],
  ['FIPS', { useFipsEndpoint: true }, 'bucket'],
  ['acceleration', { useAccelerateEndpoint: true }, 'bucket'],
  ['an access point', {}, 'arn:aws:s3:eu-west-1:123456789012:accesspoint/files'],
  ['an endpoint with a port', { endpoint: 'http://127.0.0.1:9000', forcePathStyle: true }, 'bucket'],
  ['an endpoint with a path', { endpoint: 'https://files.example/s3/', forcePathStyle: true }, 'bucket'],
  ['a session token', { credentials: { ...credentials, sessionToken: 'a/b+c==' } }, 'bucket'],
  ['checksums', { requestChecksumCalculation: 'WHEN_SUPPORTED' }, 'bucket'],
]

/** Compares the URLs of each client with those of the SDK, for the keys that `isChosen` chooses by their place and that of the client. */
export function describeUrlsForKeys(isChosen: (keyAt: number, clientAt: number) => boolean): void {
  describe.each(clients)('URLs for %s', (name, config, bucket) => {
    const clientAt = clients.findIndex(([other]) => other === name)
    const keys = KEYS.filter((_, keyAt) => isChosen(keyAt, clientAt))
    it.each(signings)('of %s are those of the SDK', async (_, sign) => {
      const client = clientOf(config)
      const hasBuilt = watchBuilding(client)
      const storage = s3Storage({ client })
      await sign(storage, bucket, 'first')
      expect(hasBuilt()).toBe(true)
      const urls: string[] = []
      for (const key of keys) urls.push(await sign(storage, bucket, key))
      expect(hasBuilt()).toBe(false)
      // The first URL of a storage is always built by the SDK.
      for (const [at, key] of keys.entries()) {
        expect(urls[at]).toBe(await sign(s3Storage({ client }), bucket, key))
      }
    })
  })
}
