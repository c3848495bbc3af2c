import { PutBucketPolicyCommand, type S3Client } from '@aws-sdk/client-s3'
import { documentedSettings } from './documented-settings.js'
import type { Account } from './s3-server.js'

interface Policy {
  readonly Version: string
  readonly Statement: readonly { readonly Action: readonly string[]; readonly Resource: string }[]
}

/** Grants an account the permissions in docs/s3.md with a bucket policy, except one of them. */
export async function grant(
  {
    owner,
    bucket,
    account,
  }: { readonly owner: S3Client; readonly bucket: string; readonly account: Account },
  except?: string,
): Promise<void> {
  const { Version, Statement } = documentedSettings<Policy>('Allow', bucket)
  const statements = Statement.map((statement) => ({
    ...statement,
    Action: statement.Action.filter((action) => action !== except),
    Principal: { AWS: [`arn:aws:iam:::user/${account.accessKeyId}`] },
  }))
  const text = JSON.stringify({ Version, Statement: statements })
  await owner.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: text }))
}
