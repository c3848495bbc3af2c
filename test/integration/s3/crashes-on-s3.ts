import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { expect } from 'vitest'
import type { CrashFlow } from '../../unit/server/crash-flows.js'
import { describeCrashes } from '../../unit/server/describe-crashes.js'
import { describeErasureCrashes } from '../../unit/server/describe-erasure-crashes.js'
import { clientOf, describeS3, freshBucket, keysIn } from './s3-server.js'

/** Stops a process before every n-th call of each flow. */
export function describeCrashesOnS3(flows: Readonly<Record<string, CrashFlow>>, step: number): void {
  describeS3('a server with s3Storage', (server) => {
    const client = clientOf(server)
    const bucketName = freshBucket(client)
    describeCrashes(flows, { bucket: { bucketName, storage: (now) => s3Storage({ client, now }) }, step })
  })
}

/** Stops `eraseScope` before every n-th call. */
export function describeErasureCrashesOnS3(step: number): void {
  describeS3('a server with s3Storage', (server) => {
    const client = clientOf(server)
    const bucketName = freshBucket(client)
    describeErasureCrashes({
      bucket: { bucketName, storage: (now) => s3Storage({ client, now }) },
      async inspect({ objects }, { ofApplication, ofOther }) {
        const others = ofOther.filter(({ fill }) => fill !== null).map(({ object }) => object.storageKey)
        // Empty objects keep upload URLs from writing again.
        const left = new Set((await objects.listLeftovers()).map(({ storageKey }) => storageKey))
        const keys = (await keysIn(client, bucketName)).filter((key) => !left.has(key))
        expect(keys.sort()).toEqual([...ofApplication, ...others].sort())
        const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucketName }))
        expect(Uploads ?? []).toEqual([])
      },
      step,
    })
  })
}
