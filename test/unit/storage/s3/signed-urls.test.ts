import { PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it, vi } from 'vitest'
import {
  atOneTime,
  clientOf,
  credentials,
  describeUrlsForKeys,
  expiresAt,
  NOW,
  serverURL,
  signings,
} from './urls-for-keys.js'

atOneTime()

// Each key with every third client. The long run has all.
describeUrlsForKeys((keyAt, clientAt) => keyAt % 3 === clientAt % 3)

describe('a URL', () => {
  const upload = signings[0]![1]
  const keyIn = (url: string) => new URL(url).searchParams.get('X-Amz-Credential')!.split('/')[0]

  it('has the bucket of its request', async () => {
    const storage = s3Storage({ client: clientOf() })
    for (const bucket of ['one', 'two', 'one', 'two']) {
      expect(new URL(await upload(storage, bucket, 'key')).hostname).toBe(
        `${bucket}.s3.eu-west-1.amazonaws.com`,
      )
    }
  })

  it('is for the bucket that bucketName returns, which must be a name', async () => {
    const names: Record<string, string> = { old: 'new' }
    const storage = s3Storage({ client: clientOf(), bucketName: (bucket) => names[bucket]! })
    for (const [, sign] of signings) {
      expect(new URL(await sign(storage, 'old', 'key')).hostname).toBe('new.s3.eu-west-1.amazonaws.com')
    }
    await expect(upload(storage, 'other', 'key')).rejects.toThrow(
      's3Storage: bucketName must return the name of a bucket (got undefined).',
    )
  })

  it('is signed with the current credentials', async () => {
    let keys = 0
    const rotating = () =>
      Promise.resolve({
        ...credentials,
        accessKeyId: `key${++keys}`,
        expiration: new Date(Date.now() + 60_000),
      })
    const storage = s3Storage({ client: clientOf({ credentials: rotating }) })
    await upload(storage, 'bucket', 'a')
    const used = [keyIn(await upload(storage, 'bucket', 'b')), keyIn(await upload(storage, 'bucket', 'c'))]
    expect(new Set(used).size).toBe(2)
    expect(used[1]).toBe(`key${keys}`)
  })

  it('rejects if there are no credentials any more', async () => {
    let isGone = false
    const failing = () =>
      isGone
        ? Promise.reject(new Error('no role'))
        : Promise.resolve({ ...credentials, expiration: new Date(Date.now() + 60_000) })
    const storage = s3Storage({ client: clientOf({ credentials: failing }) })
    await upload(storage, 'bucket', 'a')
    isGone = true
    await expect(upload(storage, 'bucket', 'b')).rejects.toThrow(
      's3Storage: signUpload failed in bucket "bucket": Error: no role',
    )
  })

  it('is not signed with credentials that have ended, after asking the provider once more', async () => {
    let asked = 0
    const ended = () => Promise.resolve({ ...credentials, expiration: new Date(NOW.getTime() - ++asked) })
    const storage = s3Storage({ client: clientOf({ credentials: ended }) })
    await expect(upload(storage, 'bucket', 'a')).rejects.toThrow(
      'signUpload failed in bucket "bucket": Error: the credentials ended at 2026-01-02T03:04:05.6',
    )
    expect(asked).toBeGreaterThan(1)

    const renewed = () =>
      Promise.resolve({ ...credentials, expiration: new Date(NOW.getTime() + (asked++ === 0 ? -1 : 60_000)) })
    asked = 0
    await upload(s3Storage({ client: clientOf({ credentials: renewed }) }), 'bucket', 'a')
  })

  it('ends with the session of a directory bucket', async () => {
    const expiration = new Date(NOW.getTime() + 300_000)
    const session = { ...credentials, sessionToken: 't', expiration }
    const s3ExpressIdentityProvider = { getS3ExpressIdentity: () => Promise.resolve(session) }
    const storage = s3Storage({ client: clientOf({ s3ExpressIdentityProvider }) })
    const input = { key: 'a', size: 1, contentType: 'a/b', attemptId: 'a', expiresAt, serverURL }
    const signed = await storage.signUpload({ ...input, bucket: 'files--euw1-az1--x-s3' })
    expect(signed.expiresAt).toEqual(expiration)
  })

  it('has a new endpoint and region of the client after a minute', async () => {
    let current = { host: 'old.example', region: 'eu-west-1' }
    const storage = s3Storage({
      client: clientOf({
        endpoint: () => Promise.resolve({ protocol: 'https:', hostname: current.host, path: '/' }),
        region: () => Promise.resolve(current.region),
        forcePathStyle: true,
      }),
    })
    const signed = async () => {
      const { hostname, searchParams } = new URL(await upload(storage, 'bucket', 'a'))
      return { host: hostname, region: searchParams.get('X-Amz-Credential')!.split('/')[2] }
    }
    expect(await signed()).toEqual(current)
    current = { host: 'new.example', region: 'us-west-2' }
    vi.advanceTimersByTime(60_000)
    expect([await signed(), await signed()]).toEqual([current, current])
  })

  it.each(['a/../b', '../a', 'a/..', './a', 'a/.', '.', '..', 'a/./b'])(
    'is refused for the key %s, as the first one and later',
    async (key) => {
      const storage = s3Storage({ client: clientOf() })
      const refused = () =>
        expect(upload(storage, 'bucket', key)).rejects.toThrow('key must not have a "." or ".." segment')
      await refused()
      await upload(storage, 'bucket', 'a')
      await refused()
    },
  )

  it('has a header that a middleware adds for requesters who pay in its query', async () => {
    const client = clientOf()
    client.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { readonly headers: Record<string, string> }
        headers['x-amz-request-payer'] = 'requester'
        return next(args)
      },
      { step: 'build' },
    )
    const { searchParams } = new URL(await upload(s3Storage({ client }), 'bucket', 'a'))
    expect(searchParams.get('x-amz-request-payer')).toBe('requester')
    expect(searchParams.get('X-Amz-SignedHeaders')).not.toContain('payer')
  })

  it('is built by the SDK if the application added middleware to the client', async () => {
    const client = clientOf()
    client.middlewareStack.add(
      (next) => (args) => {
        const request = args.request as { path: string; hostname: string }
        request.hostname = `${request.path.slice(1)}.example`
        return next(args)
      },
      { step: 'build', name: 'hostOfKey' },
    )
    const storage = s3Storage({ client })
    for (const key of ['one', 'two', 'three']) {
      expect(new URL(await upload(storage, 'bucket', key)).hostname).toBe(`${key}.example`)
    }
  })

  it('does not change how the client sends requests', async () => {
    const client = clientOf()
    await upload(s3Storage({ client }), 'bucket', 'a')
    const names = client.middlewareStack.identify().join()
    expect(names).toBe(clientOf().middlewareStack.identify().join())
    expect(new PutObjectCommand({ Bucket: 'bucket', Key: 'a' }).middlewareStack.identify()).toEqual([])
  })
})
