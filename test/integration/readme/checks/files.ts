import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Handler, S3ServerCore, StorageObject } from '@svc/db'
import { expect, vi } from 'vitest'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

interface ImportProgram {
  readonly s3: S3ServerCore
  readonly importFile: (jobId: string, url: string, signal: AbortSignal) => Promise<StorageObject>
}

/** Also checks what the page says about failing and repeated imports. */
const importsFiles: SnippetCheck = async (program) => {
  const { s3, importFile } = await run<ImportProgram>(program)
  let isBroken = false
  let isSizeKnown = true
  const origin = await originOf(
    createServer((_, response) => {
      const size = isSizeKnown && { 'content-length': isBroken ? 6 : 5 }
      response.writeHead(200, { 'content-type': 'text/plain', ...size })
      response.write('hello')
      if (isBroken) response.destroy()
      else response.end()
    }).listen(0),
  )
  const { signal } = new AbortController()
  const logged = vi.spyOn(console, 'log').mockReturnValue()
  isBroken = true
  await expect(importFile('7', origin, signal)).rejects.toThrow()
  await expect(s3.files.get({ key: 'imports/7' })).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  isBroken = false
  expect(await importFile('7', origin, signal)).toMatchObject({
    key: 'imports/7',
    scope: 'user:ann',
    contentType: 'text/plain',
    size: 5,
  })
  expect(logged.mock.calls).toEqual([['5 of 5 bytes']])
  await expect(importFile('7', origin, signal)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
  isSizeKnown = false
  expect(await importFile('8', origin, signal)).toMatchObject({ contentType: 'text/plain', size: 5 })
}

interface FolderProgram {
  readonly importFolder: (folder: string) => Promise<string[]>
}

/** Also checks that a second run skips what is there, and that folders inside are left out. */
const importsFolders: SnippetCheck = async (program) => {
  const { importFolder } = await run<FolderProgram>(program)
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-folder-'))
  try {
    writeFileSync(join(folder, 'a.txt'), 'first')
    expect(await importFolder(folder)).toEqual(['folder/a.txt'])
    writeFileSync(join(folder, 'b.txt'), '')
    mkdirSync(join(folder, 'c'))
    expect(await importFolder(folder)).toEqual(['folder/b.txt'])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface ReportProgram {
  readonly storeReport: (month: string, rows: readonly string[]) => Promise<string>
  readonly startOf: (key: string, bytes: number) => Promise<object>
  readonly deleteReport: (key: string, attemptId: string) => Promise<StorageObject | null>
}

const storesReports: SnippetCheck = async (program) => {
  const { storeReport, startOf, deleteReport } = await run<ReportProgram>(program)
  const key = await storeReport('2026-01', ['name,size', 'a,1'])
  expect(await startOf(key, 4)).toEqual({ filename: 'report-2026-01.csv', text: 'name' })
  expect(await startOf(key, 1000)).toMatchObject({ text: 'name,size\na,1' })
  const other = '01999999-9999-7999-8999-999999999999'
  expect(await deleteReport(key, other)).toBeNull()
}

const sendsDownloads: SnippetCheck = async (program) => {
  const { s3 } = await runSibling<ImportProgram>(program, 'import-job.mjs')
  const { server } = await run<{ server: Server }>(program)
  const origin = await originOf(server.listen(0))
  await s3.files.put({ scope: 'user:ann', body: 'hello', key: 'sent' })
  expect(await (await fetch(`${origin}/sent`)).text()).toBe('hello')
  await expect(fetch(`${origin}/missing`)).rejects.toThrow('fetch failed')
}

interface GalleryProgram {
  readonly s3: S3ServerCore & { readonly handler: Handler }
  readonly galleryPage: (scope: string) => Promise<string>
}

const linksToPictures: SnippetCheck = async (program) => {
  const { s3, galleryPage } = await run<GalleryProgram>(program)
  await s3.files.put({ scope: 'user:ann', body: 'pixels', contentType: 'image/png', filename: 'a.png' })
  await s3.files.put({ scope: 'user:bob', body: 'others', contentType: 'image/png', filename: 'b.png' })
  const page = await galleryPage('user:ann')
  const [, url = '', ...more] = page
    .split('"')
    .filter((text, index) => index === 0 || text.startsWith('http'))
  expect(more).toEqual([])
  const response = await s3.handler(new Request(url))
  expect(response.headers.get('content-disposition')).toMatch(/^inline/)
  expect(await response.text()).toBe('pixels')
}

export const filesChecks: SnippetChecks = {
  'docs/files.md#import-job.ts': importsFiles,
  'docs/files.md#import-folder.ts': importsFolders,
  'docs/files.md#monthly-report.ts': storesReports,
  'docs/files.md#download-server.ts': sendsDownloads,
  'docs/files.md#gallery-page.ts': linksToPictures,
}
