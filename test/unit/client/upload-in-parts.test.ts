import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { answering, fileOf, lostAfter, lostBefore, PART, startUploads, threeParts } from './in-parts.js'
import { timeUntilSettled } from './patience.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED } from './server.js'

const BEGIN = /^POST \/multipart$/
const SIGN = /\/parts$/
const LIST = /\/list$/
const COMPLETE = /\/complete$/
const ABORT = /\/multipart\/abort$/
const PUT = /^PUT/
const ONE_PUT = /^POST \/upload$/

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** What a call comes to when nobody waits for its pauses. */
async function hurried<T>(call: Promise<T>): Promise<T> {
  await timeUntilSettled(call)
  return call
}

/** Begins an upload of a file and loses the network, with just these parts sent. */
async function cutOff(uploads: ReturnType<typeof startUploads>, file: File, lost = /^PUT [23]$/) {
  uploads.trouble(lost, lostBefore)
  expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
  uploads.calm()
  uploads.log.length = 0
}

describe('an upload of 16 MiB or more', () => {
  it('goes in parts', async () => {
    const uploads = startUploads()
    const file = threeParts()
    const object = await uploads.api.upload(file, { metadata: { a: 'b' } })
    expect(object).toMatchObject({
      status: 'active',
      size: file.size,
      filename: file.name,
      contentType: 'text/plain',
    })
    expect(Buffer.from(await uploads.bytesOf(object)).equals(Buffer.from(await file.arrayBuffer()))).toBe(
      true,
    )
    expect(uploads.log.slice(0, 2)).toEqual(['POST /multipart', 'POST /multipart/parts'])
    expect(uploads.log.slice(2, 5).sort()).toEqual(['PUT 1', 'PUT 2', 'PUT 3'])
    expect(uploads.log[5]).toBe('POST /multipart/complete')
    expect(await uploads.objects.find(object)).toMatchObject({ metadata: { a: 'b' } })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('begins at exactly 16 MiB', async () => {
    const uploads = startUploads()
    expect(await uploads.api.upload(fileOf(2 * PART - 1))).toMatchObject({ size: 2 * PART - 1 })
    expect([uploads.count(ONE_PUT), uploads.count(BEGIN)]).toEqual([1, 0])
    expect(await uploads.api.upload(fileOf(2 * PART))).toMatchObject({ size: 2 * PART })
    expect([uploads.count(ONE_PUT), uploads.count(BEGIN)]).toEqual([1, 1])
  })

  it('goes in one PUT where the server has parts off', async () => {
    const uploads = startUploads({ multipart: false })
    const object = await uploads.api.upload(threeParts())
    expect(object).toMatchObject({ status: 'active', size: 2 * PART + 3 })
    expect(uploads.log.slice(0, 3)).toEqual(['POST /multipart', 'POST /upload', 'PUT _storage'])
  })

  it('sends four parts at once, and asks for eight URLs at a time', async () => {
    const uploads = startUploads()
    const asked: number[] = []
    uploads.trouble(SIGN, async (serve) => {
      const response = await serve()
      asked.push(((await response.clone().json()) as { parts: unknown[] }).parts.length)
      return response
    })
    expect(await uploads.api.upload(fileOf(9 * PART))).toMatchObject({ size: 9 * PART })
    expect(uploads.mostAtOnce()).toBe(4)
    expect(asked).toEqual([8, 1])
  })

  it('tells of progress part by part, never backwards, to the end', async () => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 2$/, answering(500), 1)
    const file = threeParts()
    const steps: number[] = []
    await hurried(uploads.api.upload(file, { onProgress: ({ loaded, total }) => steps.push(loaded / total) }))
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other))
    expect(steps[0]).toBe(0)
    expect(steps.length).toBeGreaterThan(2)
    expect(steps.at(-1)).toBe(1)
  })

  it('sends no header of the application to a signed URL', async () => {
    const uploads = startUploads()
    await uploads.api.upload(threeParts())
    const puts = uploads.sent.filter(({ method }) => method === 'PUT')
    expect(puts).toHaveLength(3)
    for (const { headers, credentials } of puts) {
      expect([[...headers.keys()], credentials]).toEqual([[], 'omit'])
    }
  })

  it('takes bytes that are no file', async () => {
    const uploads = startUploads()
    expect(await uploads.api.upload(new Blob([new Uint8Array(2 * PART)]))).toMatchObject({ filename: 'file' })
  })
})

describe('a part that fails', () => {
  it.each([
    ['a lost connection', lostBefore],
    ['a lost answer', lostAfter],
    ['a server that is out of service', answering(503)],
    ['a bucket that asks for patience', answering(429)],
    ['a URL that has expired', answering(403)],
    ['a bucket that has waited too long', answering(400)],
  ])('by %s is sent again, by itself, to another URL', async (_, trouble) => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 2$/, trouble, 2)
    expect(await hurried(uploads.api.upload(threeParts()))).toMatchObject({ status: 'active' })
    expect([uploads.count(/^PUT 1$/), uploads.count(/^PUT 2$/), uploads.count(/^PUT 3$/)]).toEqual([1, 3, 1])
    expect(uploads.count(SIGN)).toBe(3)
    expect(
      new Set(uploads.sent.filter(({ method }) => method === 'PUT').map(({ target }) => target)).size,
    ).toBeGreaterThan(2)
  })

  it('for good stops the others, and the attempt ends at the server', async () => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 1$/, answering(403))
    const error = await hurried(rejectionOf(uploads.api.upload(fileOf(12 * PART))))
    expect(error).toMatchObject({ status: 403, code: 'UNEXPECTED_RESPONSE' })
    expect(uploads.count(/^PUT 1$/)).toBe(6)
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it.each([
    ['URLs', SIGN],
    ['to complete', COMPLETE],
  ])('to get %s is asked again', async (_, where) => {
    const uploads = startUploads()
    uploads.trouble(where, lostAfter, 2)
    uploads.trouble(where, answering(502), 1)
    expect(await hurried(uploads.api.upload(threeParts()))).toMatchObject({ status: 'active' })
    expect(uploads.count(ABORT)).toBe(0)
  })

  it('to be there when it is to be completed is sent once more', async () => {
    const uploads = startUploads()
    let pretended = false
    uploads.trouble(/^PUT 2$/, async (serve) => {
      if (pretended) return serve()
      pretended = true
      return new Response()
    })
    const object = await uploads.api.upload(threeParts())
    expect(uploads.log.slice(-4)).toEqual([
      'POST /multipart/list',
      'POST /multipart/parts',
      'PUT 2',
      'POST /multipart/complete',
    ])
    expect((await uploads.bytesOf(object))[PART]).toBe(2)
  })
})

describe('an upload in parts that fails for good', () => {
  it('before it has begun: nothing is kept or ended', async () => {
    const uploads = startUploads({ quota: { maxBytes: 1 } })
    const file = threeParts()
    for (let time = 0; time < 2; time++) {
      expect(await rejectionOf(uploads.api.upload(file))).toMatchObject({
        code: 'QUOTA_EXCEEDED',
        status: 413,
      })
    }
    expect(uploads.log).toEqual(['POST /multipart', 'POST /multipart'])
  })

  it('ends the attempt and is not resumed', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(/^PUT 2$/, answering(418))
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ status: 418 })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    uploads.calm()
    await uploads.api.upload(file)
    expect([uploads.count(LIST), uploads.count(BEGIN)]).toEqual([0, 2])
  })

  it('says that the server knows nothing of it any more', async () => {
    const uploads = startUploads()
    uploads.trouble(SIGN, async (serve) => {
      const { objects } = await uploads.objects.listByScope({ scope: 'ada' })
      for (const { bucket, key } of objects) await uploads.objects.release({ bucket, key })
      return serve()
    })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect([uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 0])
  })

  it('passes on what onProgress throws', async () => {
    const uploads = startUploads()
    const gone = new Error('The progress bar is gone.')
    const onProgress = ({ loaded }: { loaded: number }) => {
      if (loaded > 0) throw gone
    }
    await expect(uploads.api.upload(threeParts(), { onProgress })).rejects.toBe(gone)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })
})

describe('an upload in parts that is aborted', () => {
  it.each([
    ['beforehand', null],
    ['while it begins', BEGIN],
    ['while it asks for URLs', SIGN],
    ['while parts are sent', /^PUT 2$/],
  ])('%s: the attempt ends, and nothing is kept', async (_, where) => {
    const uploads = startUploads()
    const controller = new AbortController()
    const reason = new Error('The user has changed their mind.')
    if (where === null) controller.abort(reason)
    else {
      uploads.trouble(where, (serve) => {
        controller.abort(reason)
        return serve()
      })
    }
    const file = threeParts()
    const upload = uploads.api.upload(file, { signal: controller.signal })
    expect(await rejectionOf(upload)).toMatchObject({ code: 'ABORTED', cause: reason })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    expect(uploads.count(ABORT)).toBe(where === null ? 0 : 1)
    uploads.calm()
    await uploads.api.upload(file)
    expect(uploads.count(LIST)).toBe(0)
  })

  it('before the server completes it: the attempt ends', async () => {
    const uploads = startUploads()
    const controller = new AbortController()
    uploads.trouble(COMPLETE, async () => {
      controller.abort()
      return new Promise(() => undefined)
    })
    expect(await rejectionOf(uploads.api.upload(threeParts(), { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('after the server has completed it: resolves to the object that is there', async () => {
    const uploads = startUploads()
    const controller = new AbortController()
    uploads.trouble(
      COMPLETE,
      async (serve) => {
        const answer = await serve()
        controller.abort()
        return answer
      },
      1,
    )
    const steps: number[] = []
    const onProgress = ({ loaded }: { loaded: number }) => steps.push(loaded)
    const object = await uploads.api.upload(threeParts(), { signal: controller.signal, onProgress })
    expect(object).toMatchObject({ status: 'active' })
    expect(steps.at(-1)).toBe(2 * PART + 3)
  })
})

describe('an upload in parts that lost the network', () => {
  it('is kept at the server, and goes on with what is missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    expect(uploads.count(ABORT)).toBe(0)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({
      reservedBytes: file.size,
      reservedFiles: 1,
    })
    const steps: number[] = []
    const object = await uploads.api.upload(file, { onProgress: ({ loaded }) => steps.push(loaded) })
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(steps[0]).toBe(PART)
    expect(uploads.log.slice(0, 2)).toEqual(['POST /multipart/list', 'POST /multipart/parts'])
    expect(uploads.log.slice(2, 4).sort()).toEqual(['PUT 2', 'PUT 3'])
    expect(uploads.log.slice(4, 5)).toEqual(['POST /multipart/complete'])
    expect((await uploads.bytesOf(object))[2 * PART]).toBe(3)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
    uploads.log.length = 0
    expect(await uploads.api.upload(file)).not.toMatchObject({ id: object.id })
    expect(uploads.count(LIST)).toBe(0)
  })

  it('reads all pages of what the bucket has', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file, /^PUT 3$/)
    uploads.trouble(
      LIST,
      async (serve) => {
        const { partSize, parts } = (await (await serve()).json()) as { partSize: number; parts: unknown[] }
        return Response.json({ partSize, parts: parts.slice(0, 1), next: 1 })
      },
      1,
    )
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(PUT)]).toEqual([2, 1])
  })

  it('completes alone where only that was missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file, COMPLETE)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(PUT), uploads.count(COMPLETE)]).toEqual([1, 0, 1])
  })

  it('is that object if it had been completed, without an answer', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(COMPLETE, lostAfter)
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    uploads.calm()
    expect(await uploads.api.upload(file)).toMatchObject({ id: row!.id, status: 'active' })
    expect([uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 3])
  })

  it('is kept when the server is out of service, and when the session has ended', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(SIGN, answering(503))
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ status: 503 })
    uploads.calm()
    const signedOut = async () =>
      new Response(JSON.stringify({ code: 'UNAUTHORIZED', message: 'Sign in.' }), { status: 401 })
    uploads.trouble(COMPLETE, signedOut)
    expect(await rejectionOf(uploads.api.upload(file))).toMatchObject({ code: 'UNAUTHORIZED' })
    uploads.calm()
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(BEGIN), uploads.count(PUT), uploads.count(ABORT)]).toEqual([1, 3, 0])
  })

  it.each([
    ['another size', (file: File) => new File([file, 'x'], file.name, file)],
    ['another name', (file: File) => new File([file], 'other.bin', file)],
    ['another time', (file: File) => new File([file], file.name, { lastModified: 1 })],
  ])('is not resumed by a file with %s', async (_, other) => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    await uploads.api.upload(other(file))
    expect([uploads.count(LIST), uploads.count(BEGIN)]).toEqual([0, 1])
  })

  it.each([
    ['another route', { route: 'b' }],
    ['another file name', { filename: 'b', route: 'a' }],
    ['other metadata', { metadata: { a: '2', b: '1' }, route: 'a' }],
  ])('is not resumed with %s', async (_, options) => {
    const uploads = startUploads({ routes: { a: {}, b: {} } })
    const file = threeParts()
    const first = { route: 'a', metadata: { b: '1', a: '1' } }
    uploads.trouble(/^PUT 2$/, lostBefore)
    await hurried(rejectionOf(uploads.api.upload(file, first)))
    uploads.calm()
    await uploads.api.upload(file, { ...first, ...options })
    expect([uploads.count(LIST), uploads.count(BEGIN)]).toEqual([0, 2])
    await uploads.api.upload(file, { ...first, metadata: { a: '1', b: '1' } })
    expect([uploads.count(LIST), uploads.count(BEGIN)]).toEqual([1, 2])
  })

  it('ends where the bytes can’t be known again', async () => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 2$/, lostBefore)
    const blob = new Blob([new Uint8Array(2 * PART)])
    expect(await hurried(rejectionOf(uploads.api.upload(blob)))).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('starts afresh where the server has dropped it', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    await uploads.objects.release(row!)
    const object = await uploads.api.upload(file)
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(object.key).not.toBe(row!.key)
    expect(uploads.count(PUT)).toBe(3)
  })

  it('starts afresh, and ends the old attempt, where it has lapsed', async () => {
    let time = Date.UTC(2026, 0, 1)
    const uploads = startUploads({ now: () => new Date(time) })
    const file = threeParts()
    await cutOff(uploads, file)
    time += 25 * 60 * 60 * 1000
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(ABORT), uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 1, 3])
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('starts afresh, and ends the old attempt, where the bucket has dropped it', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    await uploads.storage.multipart!.abort({
      bucket: 'files',
      key: row!.storageKey!,
      uploadId: row!.uploadId!,
    })
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(ABORT), uploads.count(BEGIN)]).toEqual([1, 1])
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('starts afresh for another user of the same browser', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    expect(await uploads.as('bob').upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(BEGIN)).toBe(1)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
  })

  it('goes in one PUT where the server has parts off by now', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    const unknown = async () =>
      new Response(JSON.stringify({ code: 'NOT_FOUND', message: 'No.' }), { status: 404 })
    uploads.trouble(/multipart/, unknown)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(ONE_PUT)).toBe(1)
  })
})

describe('the place where uploads are kept', () => {
  /** As far as an upload needs it. */
  function storageOf(entries = new Map<string, string>()) {
    return {
      entries,
      getItem: (name: string) => entries.get(name) ?? null,
      setItem: (name: string, value: string) => void entries.set(name, value),
      removeItem: (name: string) => void entries.delete(name),
    }
  }

  it('is localStorage, with the ids alone, until the upload has ended', async () => {
    const storage = storageOf()
    vi.stubGlobal('localStorage', storage)
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    const { key, bucket, id, uploadId } = row!
    expect([...storage.entries.values()].map((value) => JSON.parse(value) as unknown)).toEqual([
      { key, bucket, id, uploadId },
    ])
    expect([...storage.entries.keys()][0]).toContain('http://files.test/api/s3')
    await uploads.api.upload(file)
    expect(storage.entries.size).toBe(0)
  })

  it.each(['', 'null', '{', '[]', '"x"', '7', '{"key":"a"}'])(
    'is as good as empty with nonsense in it: %j',
    async (nonsense) => {
      const storage = storageOf()
      vi.stubGlobal('localStorage', { ...storage, getItem: () => nonsense })
      const uploads = startUploads()
      expect(await uploads.api.upload(threeParts())).toMatchObject({ status: 'active' })
      expect(uploads.count(LIST)).toBe(0)
    },
  )

  it('is the page itself where localStorage refuses', async () => {
    const refuse = () => {
      throw new DOMException('No room.', 'QuotaExceededError')
    }
    vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse, removeItem: refuse })
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(PUT)).toBe(2)
  })
})

describe('the same file twice at the same moment', () => {
  it('in one page is two uploads', async () => {
    const uploads = startUploads()
    const file = threeParts()
    const objects = await Promise.all([uploads.api.upload(file), uploads.api.upload(file)])
    expect(new Set(objects.map(({ key }) => key)).size).toBe(2)
    for (const object of objects) expect(await uploads.bytesOf(object)).toHaveLength(file.size)
    expect([uploads.count(BEGIN), uploads.count(LIST), uploads.count(PUT)]).toEqual([2, 0, 6])
  })

  it('in two tabs is two uploads where the browser has locks', async () => {
    const request = vi.fn((_: string, __: object, work: (lock: null) => unknown) => work(null))
    vi.stubGlobal('navigator', { locks: { request } })
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(/^PUT 2$/, lostBefore)
    await hurried(rejectionOf(uploads.api.upload(file)))
    // It was the other tab's to be kept.
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    uploads.calm()
    await uploads.api.upload(file)
    expect(uploads.count(LIST)).toBe(0)
    expect(request).toHaveBeenCalledTimes(2)
    expect(request.mock.calls[0]).toEqual([
      expect.stringContaining(file.name),
      { ifAvailable: true },
      expect.any(Function),
    ])
  })

  it('goes on where a page may not lock anything', async () => {
    const request = () => Promise.reject(new DOMException('No origin.', 'SecurityError'))
    vi.stubGlobal('navigator', { locks: { request } })
    expect(await startUploads().api.upload(threeParts())).toMatchObject({ status: 'active' })
  })

  it('rejects as without locks', async () => {
    const request = (_: string, __: object, work: (lock: object) => unknown) => work({})
    vi.stubGlobal('navigator', { locks: { request } })
    const uploads = startUploads({ quota: { maxFiles: 0 } })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(uploads.count(BEGIN)).toBe(1)
  })

  it('in two tabs without locks is one upload, whole, of which the second tab sends what is missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    // The other tab: it has read the same ids, and is faster at every step from here on.
    uploads.trouble(
      /^PUT 2$/,
      async (serve) => {
        const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
        const { key, id, uploadId } = row!
        const ask = (path: string, body: object) =>
          uploads.server.handler(
            new Request(`http://files.test/api/s3/multipart/${path}`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-user': 'ada' },
              body: JSON.stringify({ key, id, uploadId, ...body }),
            }),
          )
        const { parts } = (await (await ask('parts', { partNumbers: [2, 3] })).json()) as {
          parts: { url: string }[]
        }
        for (const [index, { url }] of parts.entries()) {
          const body = file.slice((index + 1) * PART, (index + 2) * PART)
          await uploads.server.handler(new Request(url, { method: 'PUT', body }))
        }
        expect((await ask('complete', {})).status).toBe(200)
        return serve()
      },
      1,
    )
    const object = await uploads.api.upload(file)
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(uploads.count(BEGIN)).toBe(0)
    const bytes = await uploads.bytesOf(object)
    expect(Buffer.from(bytes).equals(Buffer.from(await file.arrayBuffer()))).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })
})
