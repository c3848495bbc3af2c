import { S3Client } from '@aws-sdk/client-s3'
import { createAttemptId, createS3Server, db } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage } from '@svc/db/s3'
import express from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findServer } from '../../servers/found-server.js'
import { proxyBefore } from '../../servers/http-proxy.js'
import { NGINX } from '../../servers/nginx.js'
import { startHttpServer } from '../../servers/http-server.js'

// The credentials of a role on AWS have a token of up to this length, which is part of each signed URL.
const credentials = {
  accessKeyId: 'A'.repeat(20),
  secretAccessKey: 's'.repeat(40),
  sessionToken: 't'.repeat(2000),
}

const object = {
  ...{ id: createAttemptId(), scope: 'user:1', bucket: 'files', key: 'reports/1', storageKey: 'reports/1' },
  ...{
    filename: `${'Квартальный отчёт '.repeat(30)}.xlsx`,
    contentType: 'application/vnd.ms-excel',
    size: 10,
  },
}

const { stop, url } = await startHttpServer(
  express().use(
    expressBinding(
      createS3Server({
        storage: s3Storage({ client: new S3Client({ region: 'eu-central-1', credentials }) }),
        bucket: 'files',
        plugins: [db({ client: memoryAdapter({ objects: [object] }), resolveScope: () => 'user:1' })],
      }),
    ),
  ),
)
const nginx = await findServer(proxyBefore(NGINX, url))

describe.skipIf(!('url' in nginx))('nginx with its defaults', () => {
  it('passes on a redirect to a file with a long name, signed by a role', async () => {
    if (!('url' in nginx)) return
    onTestFinished(() => nginx.stop().then(stop))
    const { status, headers } = await fetch(`${nginx.url}/api/s3/file?key=reports%2F1`, {
      redirect: 'manual',
    })
    expect(status).toBe(302)
    expect(headers.get('location')).toContain('.xlsx')
  })
})
