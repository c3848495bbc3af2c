import { PutBucketPolicyCommand, type S3Client } from '@aws-sdk/client-s3'
import { documentedSettings } from './documented-settings.js'
import type { Account } from './s3-server.js'

interface Policy {
  readonly Version: string
  readonly Statement: readonly { readonly Action: readonly string[]; readonly Resource: string }[]
}

/** Grants an account the permissions in docs/s3.md with a bucket policy, except one of them, or denies one. */
export async function grant(
  {
    owner,
    bucket,
    account,
  }: { readonly owner: S3Client; readonly bucket: string; readonly account: Account },
  { except, denied }: { readonly except?: string | undefined; readonly denied?: string } = {},
): Promise<void> {
  const { Version, Statement } = documentedSettings<Policy>('Allow', bucket)
  const Principal = { AWS: [`arn:aws:iam:::user/${account.accessKeyId}`] }
  const allowed = Statement.map((statement) => ({
    ...statement,
    Action: statement.Action.filter((action) => action !== except),
    Principal,
  }))
  const Resource = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`]
  const deny = denied === undefined ? [] : [{ Effect: 'Deny', Principal, Action: [denied], Resource }]
  const text = JSON.stringify({ Version, Statement: [...allowed, ...deny] })
  await owner.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: text }))
}
