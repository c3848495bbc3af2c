import type { ErrorBody, StorageObject } from '@svc/db'
import * as inParts from './multipart/in-parts.js'
import { bytesOfSize, expectStatus, type Begun, type Caller, type Service } from './service.js'

/** The ways to store a file, which all follow the same rules. */

/** An upload that has begun. Only a multipart upload has an id, and only the others have a signed URL. */
export type Attempt = Begun & inParts.Parts

type Input = Record<string, unknown>

/** The requests of an upload. */
export interface Upload {
  readonly name: string
  readonly begin: (caller: Caller, input?: Input) => Promise<Response>
  readonly send: (caller: Caller, attempt: Attempt, fill?: number) => Promise<unknown>
  readonly finish: (caller: Caller, attempt: Attempt) => Promise<Response>
  readonly abort: (caller: Caller, attempt: Attempt) => Promise<Response>
  /** What errors of `begin` and `finish` are reported under. */
  readonly operations: readonly [string, string]
}

export const uploads: readonly Upload[] = [
  {
    name: 'POST /upload',
    begin: (caller, input) => caller.begin(input),
    send: async (caller, { object, upload }, fill) =>
      expectStatus(await caller.put(upload, bytesOfSize(object.declaredSize ?? 0, fill)), 200),
    finish: (caller, { object }) => caller.confirm(object),
    abort: (caller, { object }) => caller.abort(object),
    operations: ['upload', 'upload.confirm'],
  },
  {
    name: 'POST /multipart',
    begin: inParts.begin,
    send: (caller, attempt, fill = 7) => inParts.sendParts(caller, attempt, { fill }),
    finish: inParts.complete,
    abort: inParts.abort,
    operations: ['multipart', 'multipart.complete'],
  },
]

export async function begun({ begin }: Upload, caller: Caller, input?: Input): Promise<Attempt> {
  return (await expectStatus(await begin(caller, input), 201)) as Attempt
}

/** Begins an upload and sends its bytes. */
export async function sent(upload: Upload, caller: Caller, input?: Input, fill?: number): Promise<Attempt> {
  const attempt = await begun(upload, caller, input)
  await upload.send(caller, attempt, fill)
  return attempt
}

export interface Door {
  readonly name: string
  /** Stores a small text file of `user:1`, or what the input says. Rejects with the error. */
  readonly store: (service: Service, input?: Input, fill?: number) => Promise<StorageObject>
}

const uploadDoor = (upload: Upload): Door => ({
  name: upload.name,
  async store(service, { scope = 'user:1', ...input } = {}, fill) {
    const caller = service.as(scope as string)
    const attempt = (await accepted(upload.begin(caller, input))) as Attempt
    await upload.send(caller, attempt, fill)
    const { object } = (await accepted(upload.finish(caller, attempt))) as Begun
    return (await service.objects.findActive(object))!
  },
})

async function accepted(request: Promise<Response>): Promise<unknown> {
  const response = await request
  const body: unknown = await response.json()
  return response.ok ? body : Promise.reject(Object.assign(new Error(), body as ErrorBody))
}

export const doors: readonly Door[] = [
  ...uploads.map(uploadDoor),
  {
    name: 'files.put',
    store({ s3 }, { size = 3, ...input } = {}, fill) {
      const file = { scope: 'user:1', filename: 'a.txt', contentType: 'text/plain', ...input }
      return s3.files.put({ ...file, body: bytesOfSize(size as number, fill) })
    },
  },
]
