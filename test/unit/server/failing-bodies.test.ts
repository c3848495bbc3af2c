import { describe, expect, it } from 'vitest'
import { BASE, startService } from './service.js'

/** A request whose body breaks off after three bytes, as where a framework or a proxy in front of it limits bodies. */
function failingRequest(method: string, url: string, headers: HeadersInit, failure: unknown): Request {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(3)),
    pull: (controller) => controller.error(failure),
  })
  return new Request(url, { method, headers, body, duplex: 'half' } as RequestInit)
}

const requests = {
  async 'the bytes of an upload'(service: ReturnType<typeof startService>, failure: unknown) {
    const { upload } = await service.as('user:1').begun()
    return failingRequest(upload.method, upload.url, upload.headers, failure)
  },
  async JSON(_service: ReturnType<typeof startService>, failure: unknown) {
    const headers = { 'x-scope': 'user:1', 'content-type': 'application/json' }
    return Promise.resolve(failingRequest('POST', `${BASE}/upload`, headers, failure))
  },
}

describe.each(Object.entries(requests))('%s whose stream fails', (_name, requestOf) => {
  async function responseTo(failure: unknown) {
    const service = startService()
    const response = await service.s3.handler(await requestOf(service, failure))
    const { code } = (await response.json()) as { code: string }
    return {
      answer: [response.status, code],
      causes: service.reported.map(({ error }) => (error as Error).cause),
    }
  }

  it('by a limit of the framework has its status, and onError gets its error', async () => {
    // What SvelteKit throws beyond BODY_SIZE_LIMIT.
    const limit = {
      status: 413,
      body: { message: 'Content-length of 12582912 exceeds limit of 524288 bytes.' },
    }
    expect(await responseTo(limit)).toEqual({ answer: [413, 'FILE_TOO_LARGE'], causes: [limit] })
  })

  it('for another reason is a 400, and onError gets its error', async () => {
    const failure = new TypeError('terminated')
    expect(await responseTo(failure)).toEqual({ answer: [400, 'VALIDATION_ERROR'], causes: [failure] })
  })

  it('because the client has gone is reported to no one', async () => {
    const gone = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    expect(await responseTo(gone)).toEqual({ answer: [400, 'VALIDATION_ERROR'], causes: [] })
  })
})

it('says how many bytes of an upload arrived', async () => {
  const service = startService()
  const request = await requests['the bytes of an upload'](service, new TypeError('terminated'))
  const response = await service.s3.handler(request)
  expect(await response.json()).toMatchObject({
    message: expect.stringContaining('(3 bytes arrived)') as string,
  })
})
