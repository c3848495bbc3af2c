import { createS3Client } from '@svc/db/client'
import { describe, expect, it } from 'vitest'
import { clientWith, large, small, start, timed } from './faulty-server.js'
import { rejectionOf } from './rejection.js'
import type { Fetch } from './server.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'

useFakePauses()

describe('what the application’s functions throw', () => {
  const mistake = new Error('The refresh token has expired.')
  const once = (call: number, result: () => object) => {
    let calls = 0
    return () => {
      if (++calls === call) throw mistake
      return result()
    }
  }

  it.each([1, 2])('once in headers, at API call %i: is tried again', async (call) => {
    const { fetch } = start()
    const headers = once(call, () => ({ 'x-user': 'ada' })) as () => Record<string, string>
    const { api } = createS3Client({ baseURL: 'http://files.test', plugins: [], fetch, headers })
    expect((await timed(api.upload(small()))).result).toMatchObject({ status: 'active' })
  })

  it.each([1, 2, 3])('once in fetch, at request %i: is tried again', async (call) => {
    const { fetch } = start()
    const fail = once(call, () => ({}))
    const own: Fetch = (input, init) => {
      fail()
      return fetch(input, init)
    }
    const { api } = clientWith(own)
    expect((await timed(api.upload(small()))).result).toMatchObject({ status: 'active' })
  })

  it.each([1, 2])('once in account, at call %i: is tried again', async (call) => {
    const { fetch } = start()
    const fail = once(call, () => ({}))
    const { api } = createS3Client({
      baseURL: 'http://files.test',
      plugins: [],
      fetch,
      headers: { 'x-user': 'ada' },
      account: () => {
        fail()
        return 'ada'
      },
    })
    expect((await timed(api.upload(small()))).result).toMatchObject({ status: 'active' })
  })

  it('each time: is the cause, and parts that arrived are kept', async () => {
    const { fetch, count } = start()
    let isBroken = false
    const headers = () => {
      if (isBroken) throw mistake
      return { 'x-user': 'ada' }
    }
    const { api } = createS3Client({ baseURL: 'http://files.test', plugins: [], fetch, headers })
    const file = large()
    const onProgress = ({ loaded }: { loaded: number }) => (isBroken ||= loaded > 0)
    const { result } = await timed(rejectionOf(api.upload(file, { onProgress })))
    expect(result).toMatchObject({ code: 'NETWORK_ERROR', cause: mistake })
    isBroken = false
    expect((await timed(api.upload(file))).result).toMatchObject({ status: 'active' })
    expect([count('POST /multipart'), count('PUT')]).toEqual([1, 3])
  })

  it.each<[string, (state: string) => boolean]>([
    ['onProgress', () => false],
    ['onState sending', (state) => state === 'sending'],
    ['onState confirming', (state) => state === 'confirming'],
  ])('in %s: ends the upload with that error', async (name, throwsAt) => {
    const client = start()
    const call = client.api.upload(small(), {
      onProgress: () => {
        if (name === 'onProgress') throw mistake
      },
      onState: (state) => {
        if (throwsAt(state)) throw mistake
      },
    })
    await timed(call)
    await expect(call).rejects.toBe(mistake)
    expect(await client.usage()).toMatchObject({ reservedFiles: 0 })
  })
})
