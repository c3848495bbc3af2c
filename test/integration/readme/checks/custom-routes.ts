import type { Express } from 'express'
import type { Handler, StorageObject, StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { ask, clientOf, signedInAs, type HandlerProgram } from './app-client.js'

const sharesPublicFiles: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.listen(0))
  const size = (key: string, headers = {}) => fetch(`${origin}/size?key=${key}`, { headers })

  expect(await (await size('poster.png')).json()).toEqual({ size: 900 })
  expect(await (await size('diary.txt', signedInAs('user:ann'))).json()).toEqual({ size: 40 })
  for (const response of [await size('diary.txt'), await size('nothing.txt', signedInAs('user:ann'))]) {
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  }
}

const guardsUploads: SnippetCheck = async (program) => {
  const server = await run<HandlerProgram & { readonly held: Set<string> }>(program)
  const upload = async (scope: string, filename: string) => {
    const file = { filename, contentType: 'application/octet-stream', size: 10 }
    const response = await ask(server, scope, 'POST', '/upload', file)
    return { status: response.status, body: (await response.json()) as object }
  }

  const allowed = await upload('user:ann', 'notes.bin')
  expect(allowed).toMatchObject({ status: 201, body: { object: { key: 'user:ann/notes.bin' } } })
  expect(await upload('user:ann', 'game.exe')).toMatchObject({ status: 415 })
  const suspended = await upload('user:mallory', 'notes.bin')
  expect(suspended).toMatchObject({ status: 403, body: { message: 'Your account is suspended.' } })

  const ann = clientOf(server, 'user:ann')
  const contract = new File(['signed'], 'contract.txt')
  const { id, key } = await ann.upload(contract)
  await ann.upload(contract)
  server.held.add(id)
  const message = expect.stringContaining('This file is under legal hold.') as string
  await expect(ann.upload(contract)).rejects.toMatchObject({ code: 'FORBIDDEN', message })
  await expect(ann.delete({ key })).rejects.toMatchObject({ code: 'FORBIDDEN', message })
  server.held.clear()
  await ann.delete({ key })
}

const receivesReports: SnippetCheck = async (program) => {
  const { storage, receiveReport } = await run<{
    storage: { handler: Handler }
    receiveReport: (request: Request, name: string) => Promise<StorageObject>
  }>(program)
  const report = (headers: Record<string, string>) =>
    new Request('http://app.test/reports', { method: 'POST', headers, body: 'all is well' })

  const object = await receiveReport(report(signedInAs('user:ann')), 'week-1.txt')
  expect(object).toMatchObject({ status: 'active', scope: 'user:ann', bucket: 'reports', size: 11 })
  await expect(receiveReport(report({}), 'week-2.txt')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  const list = await ask({ s3: storage }, 'user:ann', 'GET', '/db/objects')
  expect(await list.json()).toMatchObject({ objects: [{ key: 'week-1.txt' }] })
}

const guardsNotes: SnippetCheck = async (program) => {
  const { readNote, writeNote, checkCopy } = await run<{
    readNote: (request: Request, key: string) => Promise<StorageObject>
    writeNote: (request: Request, key: string, text: string, readers?: string[]) => Promise<StorageObject>
    checkCopy: (request: Request, key: string, size: number) => Promise<void>
  }>(program)
  const by = (scope?: string) =>
    new Request('http://app.test/notes', scope === undefined ? {} : { headers: signedInAs(scope) })

  await writeNote(by('ann'), 'diary', 'private')
  await writeNote(by('ann'), 'plan', 'to the sea', ['bob', 'carl'])
  await writeNote(by('ann'), 'poster', 'come all', ['everybody'])
  expect(await readNote(by('bob'), 'plan')).toMatchObject({ scope: 'ann', size: 10 })
  expect(await readNote(by(), 'poster')).toMatchObject({ key: 'poster' })
  for (const [reader, key] of [['bob', 'diary'] as const, ['eve', 'plan'] as const]) {
    await expect(readNote(by(reader), key)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  }
  await writeNote(by('ann'), 'secret', 'for bob', ['bob'])
  await writeNote(by('ann'), 'secret', 'for ann alone')
  await expect(readNote(by('bob'), 'secret')).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  await checkCopy(by('bob'), 'plan', 10)
  await expect(checkCopy(by('bob'), 'plan', 1_000_001)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await expect(checkCopy(by('bob'), 'diary', 1_000_001)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}

const trustsItsMetadata: SnippetCheck = async (program) => {
  const server = await run<HandlerProgram & { client: StorageObjectStore }>(program)
  const upload = async (route: string, metadata: Record<string, string> | null) => {
    const file = { route, metadata, filename: 'a.png', contentType: 'image/png', size: 1 }
    const response = await ask(server, 'user:ann', 'POST', '/upload', file)
    return { status: response.status, body: (await response.json()) as object }
  }

  expect(await upload('scans', { scanned: 'clean' })).toMatchObject({
    status: 400,
    body: { code: 'VALIDATION_ERROR', params: { field: 'metadata' } },
  })
  expect(await upload('scans', null)).toMatchObject({ status: 201 })
  expect(await upload('photos', { album: 'city' })).toMatchObject({ status: 403 })
  expect(await upload('photos', { album: 'sea', readers: 'everybody' })).toMatchObject({ status: 201 })
  const { objects } = await server.client.listByScope({ scope: 'user:ann' })
  expect(objects.map(({ metadata }) => metadata)).toEqual([{ album: 'sea' }, null])
}

const suspendsAtOnce: SnippetCheck = async (program) => {
  const server = await runSibling<HandlerProgram>(program, 'guarded-server.mjs')
  const { suspend } = await run<{ suspend: (scope: string) => Promise<number> }>(program)
  const file = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
  const begin = (path: string) => ask(server, 'user:eve', 'POST', path, file)
  const begun = (await (await begin('/upload')).json()) as { object: { key: string; id: string } }
  expect(await suspend('user:eve')).toBe(1)
  const { key, id } = begun.object
  expect((await ask(server, 'user:eve', 'POST', '/upload/confirm', { key, id })).status).toBe(404)
  for (const path of ['/upload', '/multipart']) expect((await begin(path)).status).toBe(403)
}

export const customRoutesChecks: SnippetChecks = {
  'docs/custom-routes.md#shared-files.ts': sharesPublicFiles,
  'docs/custom-routes.md#team-guards.ts': guardsNotes,
  'docs/custom-routes.md#guarded-server.ts': guardsUploads,
  'docs/custom-routes.md#suspend.ts': suspendsAtOnce,
  'docs/custom-routes.md#own-uploads.ts': receivesReports,
  'docs/custom-routes.md#trusted-metadata.ts': trustsItsMetadata,
}
