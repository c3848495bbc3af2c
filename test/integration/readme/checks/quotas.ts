import { createS3Client } from '@svc/db/client'
import type { Handler } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { signedInAs } from './sign-in.js'

interface PlansProgram {
  readonly s3: { readonly handler: Handler }
  readonly planOf: Map<string, string>
  readonly spaceOf: (scope: string) => Promise<object>
}

/** Also checks what the page says about changing plans. */
const enforcesPlans: SnippetCheck = async (program) => {
  const { s3, planOf, spaceOf } = await run<PlansProgram>(program)
  const { api } = createS3Client({
    baseURL: 'http://app.test',
    headers: signedInAs('ann'),
    plugins: [],
    fetch: (input, init) => s3.handler(new Request(input, init)),
  })
  const upload = () => api.upload(new File(['12345'], 'a.txt', { type: 'text/plain' }))
  for (let file = 0; file < 3; file++) await upload()
  const params = { limit: 'maxFiles', max: 3, used: 3, requested: 1 }
  await expect(upload()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', status: 413, params })

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
  try {
    await expect(upload()).rejects.toMatchObject({ code: 'INTERNAL_ERROR', params: undefined })
    expect(String(logged.mock.calls[0]?.[1])).toContain('Unknown plan unknown.')
  } finally {
    logged.mockRestore()
  }
}

export const quotasChecks: SnippetChecks = {
  'docs/quotas.md#plans.ts': enforcesPlans,
}
