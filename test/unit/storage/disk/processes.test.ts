import { createHash } from 'node:crypto'
import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { codeOf } from '../object-storage-contract/bucket-service.js'
import { filesBelow } from '../temporary-folder.js'
import { diskService } from './disk-service.js'
import { buildStorageProgram, type StorageProgram } from './storage-process.js'
import type { WorkerMessage } from './storage-worker.js'

const CHUNK = 64 * 1024

function draftsAndClaims(directory: string): [drafts: string[], claims: string[]] {
  const names = readdirSync(join(directory, 'drafts'))
  const isClaim = (name: string) => name.endsWith('.claim')
  return [names.filter((name) => !isClaim(name)), names.filter(isClaim)]
}

function claimPath(
  directory: string,
  { bucket, key }: { readonly bucket: string; readonly key: string },
): string {
  const name = createHash('sha256')
    .update(JSON.stringify([bucket, key]))
    .digest('hex')
  return join(directory, 'drafts', `${name}.claim`)
}

/** Makes a claim look as if its writer had made no progress for 5 seconds. */
function backdate(path: string): void {
  const time = new Date(statSync(path).mtimeMs - 5000)
  utimesSync(path, time, time)
}

let program: StorageProgram
beforeAll(async () => {
  program = await buildStorageProgram()
})
afterAll(() => program.remove())

describe('several processes with one directory', () => {
  it('agree on the secret, and on which upload was first', async () => {
    const service = diskService()
    const { directory, clock, handler } = service
    const keys = Array.from({ length: 12 }, (_, number) => `key ${number}`)
    const contents = ['first', 'second', 'third']
    const racers = contents.map((content) =>
      program.start({ kind: 'race', directory, time: clock.time, keys, content }),
    )
    await Promise.all(racers.map((racer) => racer.messages(1)))
    racers.forEach((racer) => racer.proceed())
    const ends = (await Promise.all(racers.map((racer) => racer.messages(2)))).map(([, end]) => racedOf(end))

    for (const [at, key] of keys.entries()) {
      const statuses = ends.map((end) => end.statuses[at])
      expect([...statuses].sort(), key).toEqual([200, 409, 409])
      const winner = contents[statuses.indexOf(200)]
      for (const { downloads } of ends) {
        expect(await (await handler(new Request(downloads[at]!))).text()).toBe(winner)
      }
    }
    expect(filesBelow(directory)).toHaveLength(keys.length + 1)
  })

  it('admit one writer per upload URL, until it makes no progress', async () => {
    const { directory, clock, handler, storage, upload } = diskService()
    const size = 10 * CHUNK
    const signed = await storage.signUpload({ ...upload, size })
    const task = { kind: 'stall', directory, time: clock.time, upload: signed, chunks: 3 } as const
    const first = program.start(task)
    await first.messages(1)
    const send = () => handler(new Request(signed.url, { ...signed, body: new Uint8Array(size) }))
    expect(await codeOf(await send())).toEqual([409, 'KEY_CONFLICT', undefined])
    const [[draft, ...others], [claim, ...otherClaims]] = draftsAndClaims(directory)
    expect([others, otherClaims]).toEqual([[], []])

    const path = join(directory, 'drafts', claim!)
    backdate(path)
    expect((await send()).status).toBe(200)
    expect(await storage.head(upload)).toMatchObject({ size })
    // The first process still has its draft.
    expect(draftsAndClaims(directory)).toEqual([[draft], []])
  })

  it('refuse a URL of an object that another of them has removed, until its time is over', async () => {
    const { directory, clock, storage, upload, put } = diskService()
    const day = { ...upload, expiresAt: clock.in(24 * HOUR) }
    expect((await put(day, 'hello')).status).toBe(200)
    const writableUntil = clock.in(2 * HOUR).getTime()
    const task = { kind: 'remove', directory, time: clock.time, key: upload.key, writableUntil } as const
    await program.start(task).messages(1)
    expect(await codeOf(await put(day, 'other'))).toEqual([409, 'KEY_CONFLICT', undefined])
    expect(await storage.head(upload)).toBeNull()
    // By the clock of that process its time is over, so its own sweep may forget the name.
    clock.moveTo(new Date(writableUntil))
    const later = { ...task, time: clock.time, key: 'another', writableUntil: clock.in(HOUR).getTime() }
    await program.start(later).messages(1)
    expect((await put(day, 'other')).status).toBe(200)
  })

  it('do not wait for a process on another host', async () => {
    const { directory, storage, upload, put } = diskService()
    await storage.signUpload(upload)
    const path = claimPath(directory, upload)
    writeFileSync(path, JSON.stringify({ host: 'another host', pid: 1, process: 'x' }))
    expect((await put(upload, 'hello')).status).toBe(409)
    backdate(path)
    expect((await put(upload, 'hello')).status).toBe(200)
    expect(draftsAndClaims(directory)).toEqual([[], []])
  })

  it.each([
    ['of a process that ran under the same id', { host: hostname(), pid: process.pid, process: 'earlier' }],
    ['that is damaged', 'x'],
  ])('replace a claim %s', async (_, holder) => {
    const { directory, storage, upload, put } = diskService()
    await storage.signUpload(upload)
    const path = claimPath(directory, upload)
    writeFileSync(path, JSON.stringify(holder))
    if (holder === 'x') backdate(path)
    expect((await put(upload, 'hello')).status).toBe(200)
    expect(draftsAndClaims(directory)).toEqual([[], []])
  })

  function racedOf(message: WorkerMessage | undefined) {
    if (message?.event !== 'raced') throw new Error('The process has sent an unexpected message.')
    return message
  }
})

describe('a process that is killed', () => {
  it('during an upload leaves nothing visible, and the URL can be used again', async () => {
    const { directory, clock, handler, storage, upload, put } = diskService()
    const size = 10 * CHUNK
    const signed = await storage.signUpload({ ...upload, size })
    const task = { kind: 'stall', directory, time: clock.time, upload: signed, chunks: 3 } as const
    const doomed = program.start(task)
    await doomed.messages(1)
    await doomed.kill()

    const [[draft, ...others], claims] = draftsAndClaims(directory)
    expect(others).toEqual([])
    expect(claims).toHaveLength(1)
    expect(statSync(join(directory, 'drafts', draft!)).size).toBe(3 * CHUNK)
    expect(await storage.head(upload)).toBeNull()

    const again = new Request(signed.url, { ...signed, body: new Uint8Array(size) })
    expect((await handler(again)).status).toBe(200)
    expect(await storage.head(upload)).toMatchObject({ size })
    expect(draftsAndClaims(directory)).toEqual([[draft], []])

    const old = new Date(statSync(join(directory, 'signing-secret')).mtimeMs - 25 * HOUR)
    utimesSync(join(directory, 'drafts', draft!), old, old)
    clock.advance(HOUR)
    expect((await put({ ...upload, key: 'other', expiresAt: clock.in(HOUR) }, 'hello')).status).toBe(200)
    await expect.poll(() => readdirSync(join(directory, 'drafts'))).toEqual([])
  })
})
