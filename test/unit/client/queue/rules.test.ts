import { createS3Client, type S3ClientError } from '@svc/db/client'
import { createUploadQueue } from '@svc/db/uploads'
import { describe, expect, it } from 'vitest'
import { until } from '../../../until.js'
import { rejectionOf } from '../rejection.js'
import { startClient } from '../server.js'
import { useFakePauses } from '../upload-in-parts/fake-pauses.js'
import { createGate, note, startQueue, watch } from './queue-of-files.js'

useFakePauses()

const routes = {
  photos: { contentTypes: ['image/*', 'application/pdf'], maxFileSize: 10 },
  notes: { maxFileSize: 4 },
  any: {},
}
const file = (type: string, size: number, name = 'a') =>
  new File(['x'.repeat(size)], name, { type, lastModified: 1 })

describe('api.uploadRules', () => {
  it('resolves to the rules of the open routes', async () => {
    const { api } = startClient({ routes: { ...routes, hidden: { http: false } } })
    expect(await api.uploadRules()).toEqual({
      routes: {
        photos: { contentTypes: ['image/*', 'application/pdf'], maxFileSize: 10, multipart: true },
        notes: { contentTypes: null, maxFileSize: 4, multipart: true },
        any: { contentTypes: null, maxFileSize: null, multipart: true },
      },
    })
  })
})

describe('a file that breaks the rules', () => {
  it.each([
    ['photos', 'image/png', 10],
    ['photos', 'image/png', 11],
    ['photos', 'IMAGE/PNG; a=b', 3],
    ['photos', 'application/pdf;a="b"', 3],
    ['photos', 'application/pdf2', 3],
    ['photos', 'text/plain', 11],
    ['photos', '', 3],
    ['notes', 'text/plain', 4],
    ['notes', 'text/plain', 5],
    ['any', 'text/plain', 50],
  ])('fails as at the server, on route %s with type "%s" and %i bytes', async (route, type, size) => {
    const { queue, of, isIdle, count, api } = startQueue({}, { route }, { routes })
    const [id] = queue.add(file(type, size))
    await until(isIdle)
    const { state, error } = of(id!)
    const begun = count('POST /upload')
    const server = api.upload(file(type, size), { route }).catch((refusal: S3ClientError) => refusal)
    const { code, params } = (await server) as Partial<S3ClientError>
    expect([state, begun]).toEqual(code ? ['failed', 0] : ['done', 1])
    expect([error?.code, error?.params]).toEqual([code, params])
  })

  it('fails before others are sent, and its error says why', async () => {
    const gate = createGate()
    const { queue, states, items } = startQueue({ PUT: gate.pass }, { route: 'notes' }, { routes })
    queue.add([file('text/plain', 5), file('text/plain', 1, 'b'), file('text/plain', 9, 'c')])
    await until(() => gate.count() === 1)
    expect(states()).toEqual(['failed', 'uploading', 'failed'])
    expect(items()[2]!.error).toMatchObject({
      ...{ code: 'FILE_TOO_LARGE', status: undefined, params: { max: 4, size: 9 } },
      message: 'size must be at most 4 bytes (got 9).',
    })
    gate.open()
  })

  it('fails also while the queue is paused', async () => {
    const { queue, states } = startQueue({}, { route: 'notes' }, { routes })
    queue.pause()
    queue.add([file('text/plain', 5), file('text/plain', 1)])
    await until(() => states().join() === 'failed,paused')
  })

  it('is sent if it is retried, so that the server decides', async () => {
    const { queue, of, count } = startQueue({}, { route: 'notes' }, { routes })
    const [id] = queue.add(file('text/plain', 5))
    await until(() => of(id!).state === 'failed')
    queue.retry(id)
    await until(() => of(id!).error?.status === 413)
    expect(count('POST /upload')).toBe(1)
  })
})

describe('the rules', () => {
  it('are asked for once, at the first add', async () => {
    const { queue, isIdle, count } = startQueue()
    expect(count('GET /upload/rules')).toBe(0)
    queue.add(note())
    queue.add(note())
    await until(isIdle)
    queue.add(note())
    await until(isIdle)
    expect(count('GET /upload/rules')).toBe(1)
  })

  it.each([
    [
      'are not there',
      () => Promise.resolve(Response.json({ code: 'NOT_FOUND', message: 'No.' }, { status: 404 })),
    ],
    ['can’t be reached', () => Promise.reject(new TypeError('fetch failed'))],
  ])('leave the decision to the server where they %s', async (_, fault) => {
    const { queue, states, isIdle, items } = startQueue(
      { 'GET /upload/rules': fault },
      { route: 'notes' },
      { routes },
    )
    queue.add([file('text/plain', 5), file('text/plain', 1)])
    await until(isIdle)
    expect(states()).toEqual(['failed', 'done'])
    expect(items()[0]!.error).toMatchObject({ code: 'FILE_TOO_LARGE', status: 413 })
  })

  it('are those of the plan of each account', async () => {
    const client = startClient({
      routes: { only: { maxFileSize: (scope) => (scope === 'paid' ? null : 4) } },
    })
    let account = 'free'
    const { api } = createS3Client({
      ...{ baseURL: 'http://files.test', plugins: [], fetch: client.fetch, account: () => account },
      headers: () => ({ 'x-user': account }),
    })
    const { queue, isIdle, states } = watch(createUploadQueue(api))
    queue.add(file('text/plain', 5))
    await until(isIdle)
    account = 'paid'
    queue.add(file('text/plain', 5))
    await until(isIdle)
    expect(states()).toEqual(['failed', 'done'])
    expect(await rejectionOf(client.as('free').upload(file('text/plain', 5)))).toMatchObject({ status: 413 })
  })
})
