import { once } from 'node:events'
import { createS3Server, db } from '@svc/db'
import type { SignedUpload } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { diskStorage } from '@svc/db/disk'

/** The task of a process of `storage-process.ts`. */
export type WorkerTask = {
  readonly directory: string
  /** The fixed time of its clock, in milliseconds since 1970. */
  readonly time: number
} & (
  | { readonly kind: 'race'; readonly keys: readonly string[]; readonly content: string }
  | { readonly kind: 'stall'; readonly upload: SignedUpload; readonly chunks: number }
  | { readonly kind: 'fill' | 'fill-in-parts'; readonly callers: number }
  | { readonly kind: 'remove'; readonly key: string; readonly writableUntil: number }
)

export type WorkerMessage =
  | { readonly event: 'ready' | 'stalled' | 'removed' }
  | { readonly event: 'raced'; readonly statuses: readonly number[]; readonly downloads: readonly string[] }
  | { readonly event: 'stored'; readonly key: string; readonly content: string }

type Task<Kind extends WorkerTask['kind']> = Extract<WorkerTask, { kind: Kind }>

const CHUNK = 64 * 1024
const MINUTE = 60_000
const SERVER_URL = 'https://app.example/api/s3/_storage'

function send(message: WorkerMessage): void {
  process.send?.(message)
}

function serviceOf({ directory, time }: WorkerTask) {
  const storage = diskStorage({ directory, now: () => new Date(time) })
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })] as const
  const { handler } = createS3Server({ storage, bucket: 'files', plugins })
  const at = { bucket: 'files', expiresAt: new Date(time + MINUTE), serverURL: SERVER_URL }

  async function put({ url, ...init }: SignedUpload, body: BodyInit): Promise<number> {
    return (await handler(new Request(url, { ...init, body, ...{ duplex: 'half' } }))).status
  }

  return {
    put,
    async upload(key: string, content: string): Promise<number> {
      const attemptId = '019b7a3c-0000-7000-8000-000000000001'
      const input = { ...at, key, size: content.length, contentType: 'text/plain', attemptId }
      return put(await storage.signUpload(input), content)
    },
    async uploadInParts(key: string, contents: readonly string[]): Promise<boolean> {
      const multipart = storage.multipart!
      const attemptId = '019b7a3c-0000-7000-8000-000000000001'
      const { uploadId } = await multipart.create({ ...at, key, contentType: 'text/plain', attemptId })
      for (const [index, content] of contents.entries()) {
        const part = { ...at, key, uploadId, partNumber: index + 1, size: content.length }
        const { url } = await multipart.signPart(part)
        if ((await put({ url, method: 'PUT', headers: {} }, content)) !== 200) return false
      }
      const { parts } = (await multipart.listParts({ ...at, key, uploadId, after: 0 }))!
      return multipart.complete({ ...at, key, uploadId, parts })
    },
    async downloadURL(key: string): Promise<string> {
      const input = { ...at, key, filename: 'a.txt', contentType: null }
      return (await storage.signDownload(input)).url
    },
  }
}

/** Uploads to the same keys as the other processes, at the same time. */
async function race(task: Task<'race'>): Promise<void> {
  send({ event: 'ready' })
  await once(process, 'message')
  const service = serviceOf(task)
  const statuses = await Promise.all(task.keys.map((key) => service.upload(key, task.content)))
  const downloads = await Promise.all(task.keys.map((key) => service.downloadURL(key)))
  send({ event: 'raced', statuses, downloads })
}

/** Sends the first chunks of a body and never ends it. */
async function stall(task: Task<'stall'>): Promise<void> {
  let given = 0
  const body = new ReadableStream<Uint8Array>(
    {
      // The next chunk is requested after the previous one has been written.
      async pull(controller) {
        if (given++ < task.chunks) return controller.enqueue(new Uint8Array(CHUNK))
        send({ event: 'stalled' })
        // Never arrives. Node.js would exit if nothing but a promise were pending.
        await once(process, 'message')
      },
    },
    { highWaterMark: 0 },
  )
  await serviceOf(task).put(task.upload, body)
}

/** Uploads objects in an endless loop, and reports each successful response. */
async function fill(task: Task<'fill' | 'fill-in-parts'>): Promise<void> {
  const service = serviceOf(task)
  const caller = async (name: number) => {
    for (let number = 0; ; number++) {
      const key = `${name}/${number}`
      const content = `content of ${key};`.repeat(2000)
      const half = content.length / 2
      const stored =
        task.kind === 'fill'
          ? (await service.upload(key, content)) === 200
          : await service.uploadInParts(key, [content.slice(0, half), content.slice(half)])
      if (stored) send({ event: 'stored', key, content })
    }
  }
  await Promise.all(Array.from({ length: task.callers }, (_, name) => caller(name)))
}

async function remove({ directory, time, key, writableUntil }: Task<'remove'>): Promise<void> {
  const storage = diskStorage({ directory, now: () => new Date(time) })
  await storage.remove({ bucket: 'files', key, writableUntil: new Date(writableUntil) })
  send({ event: 'removed' })
}

process.once('message', (task: WorkerTask) => {
  switch (task.kind) {
    case 'race':
      return void race(task)
    case 'stall':
      return void stall(task)
    case 'remove':
      return void remove(task)
    case 'fill':
    case 'fill-in-parts':
      return void fill(task)
  }
})
