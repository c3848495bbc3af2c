import { createS3Client, type S3Api } from '@svc/db/client'
import { createUploadQueue, type UploadQueueOptions } from '@svc/db/uploads'
import { describe, expect, it } from 'vitest'
import { until } from '../../../until.js'
import { NOTHING_USED, startClient } from '../server.js'
import { useFakePauses } from '../upload-in-parts/fake-pauses.js'
import { createGate, note, notes, startQueue, watch } from './queue-of-files.js'

useFakePauses()

const refused = async () => Response.json({ code: 'FORBIDDEN', message: 'No.' }, { status: 403 })

describe('an upload queue', () => {
  it('uploads three files at once, in the order in which they were added', async () => {
    const gate = createGate()
    const { queue, items, isIdle, states, usage } = startQueue({ PUT: gate.pass })
    const files = notes(12)
    const ids = queue.add(files)
    expect(items().map(({ id }) => id)).toEqual(ids)
    expect(items().map(({ filename }) => filename)).toEqual(files.map(({ name }) => name))
    expect(new Set(ids).size).toBe(12)
    let begun = 3
    while (begun <= 12) {
      await until(() => gate.count() === 3)
      expect(states().slice(begun)).toEqual(Array(12 - begun).fill('queued'))
      gate.letOneThrough()
      begun += 1
      if (begun <= 12) await until(() => states()[begun - 1] === 'uploading')
    }
    gate.open()
    await until(isIdle)
    expect(states()).toEqual(Array(12).fill('done'))
    expect(await usage()).toMatchObject({ files: 12, reservedFiles: 0 })
  })

  it('has a failed file in the middle, which the others do not wait for', async () => {
    const { queue, isIdle, states, of } = startQueue({
      'POST /upload': (_serve, call) => (call === 6 ? refused() : undefined),
    })
    const ids = queue.add(notes(12))
    await until(isIdle)
    expect(states().filter((state) => state === 'failed')).toHaveLength(1)
    const failed = ids.find((id) => of(id).state === 'failed')!
    expect(of(failed).error).toMatchObject({ name: 'S3ClientError', code: 'FORBIDDEN' })
    queue.retry(failed)
    expect(of(failed)).not.toHaveProperty('error')
    await until(() => of(failed).state === 'done')
    expect(of(failed).object).toMatchObject({ status: 'active', filename: of(failed).filename })
  })

  it('cancels all, and retries all', async () => {
    const gate = createGate()
    const { queue, isIdle, states, items, usage } = startQueue({ PUT: gate.pass })
    queue.add(notes(12))
    await until(() => gate.count() === 3)
    queue.cancel()
    expect(states()).toEqual(Array(12).fill('failed'))
    expect(new Set(items().map(({ error }) => error!.code))).toEqual(new Set(['ABORTED']))
    await expect.poll(usage).toEqual(NOTHING_USED)
    gate.open()
    queue.retry()
    await until(isIdle)
    expect(states()).toEqual(Array(12).fill('done'))
    expect(await usage()).toMatchObject({ files: 12, reservedFiles: 0 })
  })

  it('goes on if all is retried before the cancelled calls have ended', async () => {
    const gate = createGate()
    const { queue, isIdle, usage } = startQueue({ PUT: gate.pass })
    queue.add(notes(6))
    await until(() => gate.count() === 3)
    queue.cancel()
    queue.retry()
    gate.open()
    await until(isIdle)
    expect(await usage()).toMatchObject({ files: 6, reservedFiles: 0 })
  })

  it.each([1, 6])('uploads %i at once if it is told so', async (concurrency) => {
    const gate = createGate()
    const { queue, states, isIdle } = startQueue({ PUT: gate.pass }, { concurrency })
    queue.add(notes(8))
    await until(() => states().filter((state) => state === 'uploading').length === concurrency)
    expect(states().filter((state) => state === 'queued')).toHaveLength(8 - concurrency)
    gate.open()
    await until(isIdle)
  })

  it.each([0, 7, 1.5, NaN, '3'])('refuses a concurrency of %s', (concurrency) => {
    const { api } = startClient()
    const create = () => createUploadQueue(api, { concurrency } as UploadQueueOptions)
    expect(create).toThrow(new TypeError(`concurrency must be an integer from 1 to 6 (got ${concurrency}).`))
  })

  it('takes a file or an iterable of files, or throws and takes none', () => {
    const { queue, items } = startQueue()
    expect(queue.add(note())).toHaveLength(1)
    expect(queue.add(new Set(notes(2)))).toHaveLength(2)
    expect(queue.add([])).toEqual([])
    for (const wrong of [[note(), 'a.txt'], 'a.txt', null, {}]) {
      expect(() => queue.add(wrong as Blob)).toThrow(TypeError)
    }
    expect(items()).toHaveLength(3)
  })

  it('passes the options of upload on, those of a file over those of the queue', async () => {
    const { queue, of, isIdle } = startQueue({}, { contentType: 'text/csv', filename: 'all.csv' })
    const [id] = queue.add(note(), { filename: 'one.csv' })
    expect(of(id!).filename).toBe('one.csv')
    await until(isIdle)
    expect(of(id!).object).toMatchObject({ filename: 'one.csv', contentType: 'text/csv' })
  })

  it('fails a file whose onProgress throws, with that error as the cause', async () => {
    const mistake = new Error('The bar is gone.')
    const onProgress = () => {
      throw mistake
    }
    const { queue, of, isIdle } = startQueue({}, { onProgress })
    const [id] = queue.add(note())
    await until(isIdle)
    expect(of(id!).error).toMatchObject({ name: 'S3ClientError', code: 'ABORTED', cause: mistake })
  })

  it('removes a file, and cancels it first', async () => {
    const gate = createGate()
    const { queue, states, usage, items } = startQueue({ PUT: gate.pass })
    const [first, , third, fourth] = queue.add(notes(4))
    await until(() => gate.count() === 3)
    queue.remove(first!)
    queue.remove(third!)
    queue.remove('unknown')
    expect(items()).toHaveLength(2)
    await until(() => states()[1] === 'uploading')
    gate.open()
    await until(() => states().every((state) => state === 'done'))
    expect(items().map(({ id }) => id)).toContain(fourth)
    await expect.poll(usage).toMatchObject({ files: 2, reservedFiles: 0 })
  })

  it('has an aborted signal of the application end its files', async () => {
    const gate = createGate()
    const controller = new AbortController()
    const { queue, isIdle, items } = startQueue({ PUT: gate.pass }, { signal: controller.signal })
    queue.add(notes(5))
    await until(() => gate.count() === 3)
    controller.abort()
    await until(isIdle)
    expect(items().map(({ error }) => error!.code)).toEqual(Array(5).fill('ABORTED'))
  })
})

describe('an account that changes while files wait', () => {
  it('does not get the files of the one before, who can retry them', async () => {
    const gate = createGate()
    const client = startQueue({ 'GET /upload/rules': gate.pass })
    let account: string | null = 'ada'
    const { api } = createS3Client({
      ...{ baseURL: 'http://files.test', plugins: [], fetch: client.fetch, account: () => account },
      headers: () => ({ 'x-user': account ?? 'nobody' }),
    })
    const { queue, states, isIdle, items } = watch(createUploadQueue(api))
    queue.add(notes(5))
    account = 'bob'
    const [bobs] = queue.add(note())
    gate.open()
    await until(isIdle)
    expect(states()).toEqual([...Array<string>(5).fill('failed'), 'done'])
    expect(items()[0]!.error).toMatchObject({ code: 'ABORTED' })
    queue.retry()
    await until(isIdle)
    expect(await client.objects.getScopeUsage('bob')).toMatchObject({ files: 1, reservedFiles: 0 })
    account = 'ada'
    queue.remove(bobs!)
    queue.retry()
    await until(() => states().every((state) => state === 'done'))
    expect(await client.objects.getScopeUsage('ada')).toMatchObject({ files: 5 })
  })

  it('does not get files that were added before anyone signed in', async () => {
    const client = startQueue()
    let account: string | null = null
    const { api } = createS3Client({
      ...{ baseURL: 'http://files.test', plugins: [], fetch: client.fetch, account: () => account },
      headers: { 'x-user': 'bob' },
    })
    const { queue, items, isIdle } = watch(createUploadQueue(api))
    queue.add(note())
    account = 'bob'
    await until(isIdle)
    expect(items()[0]!.error).toMatchObject({ code: 'ABORTED' })
  })
})

it('uploads 5,000 files without leaving one out', async () => {
  const api: Pick<S3Api, 'upload' | 'uploadRules'> = {
    uploadRules: () => Promise.resolve({ routes: {} }),
    upload: () => Promise.resolve({ id: '', key: '', bucket: '', status: 'active', createdAt: '' }),
  }
  const { queue, isIdle, states } = watch(createUploadQueue(api))
  queue.add(notes(5000))
  await until(isIdle)
  expect(states().filter((state) => state === 'done')).toHaveLength(5000)
})
