import type { Handler, S3ServerCore } from '@svc/db'
import type { DbContext } from '@svc/db/adapter'
import { expect, vi } from 'vitest'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { clientOf } from './app-client.js'

interface ServerProgram {
  readonly accounts: Map<string, 'open' | 'deleting'>
  readonly comments: Map<string, string[]>
  readonly s3: S3ServerCore & { readonly handler: Handler; readonly db: DbContext }
}

interface DeletionProgram {
  readonly requestDeletion: (user: string) => void
  readonly deleteAccounts: (signal?: AbortSignal) => Promise<void>
}

const uploaderOf = (server: ServerProgram, user: string) => {
  server.accounts.set(user, 'open')
  const api = clientOf(server, user)
  return (text: string) => api.upload(new File([text], 'a.txt', { type: 'text/plain' }))
}

const refusesBlockedAccounts: SnippetCheck = async (program) => {
  const server = await run<ServerProgram>(program)
  const upload = uploaderOf(server, 'dan')
  await upload('first')
  server.accounts.set('dan', 'deleting')
  await expect(upload('second')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  server.accounts.delete('dan')
}

/** Also checks that a stopped run keeps the account, and that the next one continues. */
const deletesAccounts: SnippetCheck = async (program) => {
  const { requestDeletion, deleteAccounts } = await run<DeletionProgram>(program)
  const server = await runSibling<ServerProgram>(program, 'server.mjs')
  const upload = uploaderOf(server, 'ann')
  const { id } = await upload('hello')
  await upload('hello again')
  server.comments.set(id, ['nice'])
  requestDeletion('ann')
  const { objects } = server.s3.db

  await deleteAccounts(AbortSignal.abort())
  expect(await objects.countByScope('user:ann')).toBe(2)
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  await deleteAccounts()
  expect(logged.mock.calls).toEqual([['ann: 2 files with 16 bytes deleted, 0 failures']])
  expect(await objects.countByScope('user:ann')).toBe(0)
  expect([server.accounts.has('ann'), server.accounts.get('bob')]).toEqual([false, 'open'])
  expect([...server.comments]).toEqual([])
}

interface HandOverProgram {
  readonly leaveTeam: (user: string, colleague: string, maxBytes: number) => Promise<number>
}

const handsOver: SnippetCheck = async (program) => {
  const { leaveTeam } = await run<HandOverProgram>(program)
  const server = await runSibling<ServerProgram>(program, 'server.mjs')
  const { key } = await uploaderOf(server, 'eve')('12345')
  await uploaderOf(server, 'eve')('1234567890')
  const reported = vi.spyOn(console, 'error').mockReturnValue()
  expect(await leaveTeam('eve', 'fay', 14)).toBe(1)
  expect(reported).toHaveBeenCalledOnce()
  expect(server.accounts.get('eve')).toBe('open')
  expect(await leaveTeam('eve', 'fay', 15)).toBe(0)
  expect(server.accounts.get('eve')).toBe('deleting')
  expect(await server.s3.db.objects.findActive({ bucket: 'uploads', key, scope: 'user:fay' })).toMatchObject({
    size: 5,
  })
}

interface ForgetProgram {
  readonly forgetFile: (scope: string, id: string) => Promise<void>
  readonly forgetMember: (scope: string, member: string) => Promise<void>
}

const forgetsFilesAndMembers: SnippetCheck = async (program) => {
  const { forgetFile, forgetMember } = await run<ForgetProgram>(program)
  const { s3 } = await runSibling<ServerProgram>(program, 'server.mjs')
  const put = (uploader: string, scope = 'user:team') =>
    s3.files.put({ scope, body: 'text', filename: `of ${uploader}.txt`, metadata: { uploader } })
  const foreign = await put('gus', 'user:other')
  const [kept, removed, another] = [await put('hal'), await put('gus'), await put('gus')]
  for (const { key } of [kept, removed, foreign]) await s3.files.delete({ key })
  const { objects } = s3.db
  const left = async (scope: string) => [
    ...(await objects.listByScope({ scope, status: 'deleted' })).objects,
    ...(await objects.listByScope({ scope })).objects,
  ]

  await forgetFile('user:team', foreign.id)
  expect(await left('user:other')).toMatchObject([{ id: foreign.id }])
  await forgetFile('user:other', foreign.id)
  expect(await left('user:other')).toEqual([])

  await forgetMember('user:team', 'gus')
  expect(await left('user:team')).toMatchObject([{ id: kept.id, metadata: { uploader: 'hal' } }])
  await expect(s3.files.get({ key: another.key })).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}

export const accountDeletionChecks: SnippetChecks = {
  'docs/account-deletion.md#server.ts': refusesBlockedAccounts,
  'docs/account-deletion.md#delete-account.ts': deletesAccounts,
  'docs/account-deletion.md#forget.ts': forgetsFilesAndMembers,
  'docs/account-deletion.md#hand-over.ts': handsOver,
}
