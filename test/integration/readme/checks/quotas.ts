import type { S3ServerCore } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf, type HandlerProgram } from './app-client.js'

interface PlansProgram extends HandlerProgram {
  readonly s3: S3ServerCore
  readonly planOf: Map<string, string>
  readonly spaceOf: (scope: string) => Promise<object>
}

/** Also checks what the page says about changing plans. */
const enforcesPlans: SnippetCheck = async (program) => {
  const server = await run<PlansProgram>(program)
  const { planOf, spaceOf } = server
  const api = clientOf(server, 'ann')
  const upload = () => api.upload(new File(['12345'], 'a.txt', { type: 'text/plain' }))
  for (let file = 0; file < 3; file++) await upload()
  const params = { limit: 'maxFiles', max: 3, used: 3, requested: 1 }
  await expect(upload()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', status: 413, params })

  const put = (scope: string, size: number) => server.s3.files.put({ scope, body: new Uint8Array(size) })
  await expect(put('ann', 1)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', params })
  await expect(put('eve', 500_001)).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' })
  await expect(clientOf(server, 'eve').upload(new File(['x'.repeat(500_001)], 'a'))).rejects.toMatchObject({
    ...{ code: 'FILE_TOO_LARGE', params: { max: 500_000 } },
  })
  expect(await put('bob', 500_001)).toMatchObject({ size: 500_001 })

  planOf.set('ann', 'paid')
  const { key } = await upload()
  planOf.set('ann', 'free')
  expect(await spaceOf('ann')).toEqual({ bytes: 20, files: 4, uploading: { bytes: 0, files: 0 } })
  await expect(upload()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  expect(await api.download({ key })).toMatchObject({ url: expect.any(String) as string })

  planOf.set('ann', 'staff')
  await upload()
  planOf.set('ann', 'unknown')
  const logged = vi.spyOn(console, 'error').mockReturnValue()
  const failure: unknown = await upload().catch((error: unknown) => error)
  expect(failure).toHaveProperty('code', 'INTERNAL_ERROR')
  expect(failure).toHaveProperty('params', {})
  expect(String(logged.mock.calls[0]?.[1])).toContain('Unknown plan unknown.')
}

export const quotasChecks: SnippetChecks = {
  'docs/quotas.md#plans.ts': enforcesPlans,
}
