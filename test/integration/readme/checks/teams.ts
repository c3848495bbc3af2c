import type { Express } from 'express'
import type pg from 'pg'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { signedInAs } from './app-client.js'

interface TeamsProgram {
  readonly app: Express
  readonly database: { readonly $client: pg.Pool }
  readonly migrate: () => Promise<void>
  readonly filesOf: (team: string) => Promise<{ readonly files: readonly object[] }>
  readonly uploadersOf: (team: string) => Promise<readonly object[]>
  readonly addMember: (team: string, person: string, role: 'owner' | 'member') => Promise<void>
  readonly removeMember: (team: string, person: string) => Promise<void>
}

const sharesATeam: SnippetCheck = async (program) => {
  const { app, database, migrate, filesOf, uploadersOf, ...teams } = await run<TeamsProgram>(program)
  await migrate()
  await teams.addMember('acme', 'ann', 'owner')
  await teams.addMember('acme', 'bob', 'member')
  await teams.addMember('other', 'eve', 'owner')
  const origin = await originOf(app.listen(0))
  const api = (team: string, person: string) =>
    createS3Client({
      baseURL: `${origin}/teams/${team}`,
      headers: signedInAs(person),
      plugins: [dbClient()],
    }).api
  const [ann, bob, stranger] = [api('acme', 'ann'), api('acme', 'bob'), api('acme', 'eve')]

  const plan = await ann.upload(new File(['to the sea'], 'plan.txt', { type: 'text/plain' }), {
    metadata: { uploader: 'bob', album: 'sea' },
  })
  const photo = await bob.upload(new File(['picture'], 'photo.png', { type: 'image/png' }))
  expect((await bob.db.listObjects()).objects.map(({ key }) => key)).toEqual([photo.key, plan.key])
  expect((await filesOf('acme')).files).toMatchObject([
    { key: photo.key, filename: 'photo.png', uploader: 'bob' },
    { key: plan.key, filename: 'plan.txt', uploader: 'ann' },
  ])
  expect(await uploadersOf('acme')).toEqual([
    { person: 'ann', files: 1, bytes: 10 },
    { person: 'bob', files: 1, bytes: 7 },
  ])
  await expect(stranger.db.listObjects()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await expect(api('other', 'eve').download(plan)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })

  const message = expect.stringContaining('Only its uploader and owners of the team delete a file.') as string
  await expect(bob.delete(plan)).rejects.toMatchObject({ code: 'FORBIDDEN', message })
  await ann.delete(photo)
  await ann.delete(plan)
  await teams.removeMember('acme', 'bob')
  await expect(bob.upload(new File(['late'], 'a.txt'))).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await database.$client.end()
}

export const teamsChecks: SnippetChecks = {
  'docs/teams.md#teams.ts': { onPostgres: sharesATeam },
}
