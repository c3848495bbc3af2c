import { createS3Client } from '@svc/db/client'
import { expect, it } from 'vitest'
import { small, start } from './faulty-server.js'
import { rejectionOf } from './rejection.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'

useFakePauses()

it('does not upload a file for an account that signs in while it waits in line', async () => {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const { fetch, count, objects } = start({ PUT: (serve) => released.then(serve) })
  let account = 'ada'
  const headers = () => ({ 'x-user': account })
  const { api } = createS3Client({
    ...{ baseURL: 'http://files.test', plugins: [], fetch, headers, account: () => account },
  })
  const begun = Array.from({ length: 6 }, () => api.upload(small()).catch(() => undefined))
  await expect.poll(() => count('PUT')).toBe(5)
  const waiting = rejectionOf(api.upload(small()))
  account = 'bob'
  release()
  await Promise.all(begun)
  expect(await waiting).toMatchObject({ code: 'ABORTED' })
  expect(await objects.getScopeUsage('bob')).toMatchObject({ files: 0, reservedFiles: 0 })
})
