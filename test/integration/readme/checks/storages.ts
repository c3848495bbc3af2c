import { createS3Server, db } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf, type HandlerProgram } from './app-client.js'

const survivesRestart: SnippetCheck = async (program) => {
  const api = clientOf(await run<HandlerProgram>(program), 'ann')
  const { key } = await api.upload(new File(['kept'], 'kept.txt', { type: 'text/plain' }))
  const { url } = await api.download({ key })

  // Like a server in another process without the records: the signed URL contains everything it needs.
  const storage = diskStorage({ directory: process.env['FILES_FOLDER']! })
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })] as const
  const { handler } = createS3Server({ storage, bucket: 'uploads', plugins })
  expect(await (await handler(new Request(url))).text()).toBe('kept')
}

export const storagesChecks: SnippetChecks = {
  'docs/storages.md#local-files.ts': survivesRestart,
}
