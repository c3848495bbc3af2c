import { afterEach, describe, expect, it } from 'vitest'
import { cutAfter, cutBefore, holding, page, startFaultyNetwork } from './faulty-network.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED } from './server.js'

type Network = Awaited<ReturnType<typeof startFaultyNetwork>>

const networks: Network[] = []

afterEach(async () => {
  await Promise.all(networks.splice(0).map((network) => network.close()))
})

async function startNetwork(): Promise<Network> {
  const network = await startFaultyNetwork()
  networks.push(network)
  return network
}

const START = /^POST .*\/upload$/
const PUT = /^PUT/
const CONFIRM = /\/upload\/confirm$/
const ABORT = /\/upload\/abort$/

const file = new File(['x'.repeat(100_000)], 'a.txt', { type: 'text/plain' })
const ONE_FILE = { ...NOTHING_USED, bytes: file.size, files: 1 }

function requestsTo({ log }: Network, where: RegExp): number {
  return log.filter((line) => where.test(line)).length
}

describe('an upload whose connection is cut', () => {
  it('before the server hears of it: nothing has begun', async () => {
    const network = await startNetwork()
    network.next(START, cutBefore)
    expect(await rejectionOf(network.api.upload(file))).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(network.log).toEqual(['POST /api/s3/upload'])
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('before its bytes arrive: it asks, ends the attempt, and tells of the network', async () => {
    const network = await startNetwork()
    network.next(PUT, cutBefore)
    const error = await rejectionOf(network.api.upload(file))
    expect(error).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(error.status).toBeUndefined()
    expect(network.log).toEqual([
      'POST /api/s3/upload',
      'PUT /api/s3/_storage',
      'POST /api/s3/upload/confirm',
      'POST /api/s3/upload/abort',
    ])
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('after its bytes have arrived: it is done', async () => {
    const network = await startNetwork()
    network.next(PUT, cutAfter)
    const steps: number[] = []
    const object = await network.api.upload(file, { onProgress: ({ loaded }) => steps.push(loaded) })
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(steps).toEqual([file.size])
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })

  it.each([
    ['a gateway that has a page for it', 504],
    ['a bucket that was sent the bytes twice', 412],
    ['a bucket that was sent them twice at once', 409],
  ])('after its bytes have arrived, by %s', async (_, status) => {
    const network = await startNetwork()
    network.next(PUT, async (forward) => {
      await forward()
      return page(status)(forward)
    })
    expect(await network.api.upload(file)).toMatchObject({ status: 'active' })
  })

  it.each([
    ['before', cutBefore],
    ['after', cutAfter],
  ])('%s the server confirms: it asks again', async (_, fault) => {
    const network = await startNetwork()
    network.next(CONFIRM, fault, fault)
    expect(await network.api.upload(file)).toMatchObject({ status: 'active', size: file.size })
    expect(requestsTo(network, CONFIRM)).toBe(3)
    expect(requestsTo(network, ABORT)).toBe(0)
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })

  it('when the attempt is to be ended: the first error counts, and the reservation lapses by itself', async () => {
    const network = await startNetwork()
    network.next(PUT, page(403))
    network.next(ABORT, cutBefore)
    expect(await rejectionOf(network.api.upload(file))).toMatchObject({
      status: 403,
      code: 'UNEXPECTED_RESPONSE',
    })
    expect(await network.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
  })
})

describe('an upload whose server is out of service for a moment', () => {
  it.each([429, 502, 503])('asks again after %i', async (status) => {
    const network = await startNetwork()
    network.next(CONFIRM, page(status))
    expect(await network.api.upload(file)).toMatchObject({ status: 'active' })
    expect(requestsTo(network, CONFIRM)).toBe(2)
  })

  it.each([400, 404, 200])('doesn’t ask again after %i', async (status) => {
    const network = await startNetwork()
    network.next(CONFIRM, page(status))
    expect(await rejectionOf(network.api.upload(file))).toMatchObject({ status, code: 'UNEXPECTED_RESPONSE' })
    expect(requestsTo(network, CONFIRM)).toBe(1)
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })
})

describe('an upload that is aborted', () => {
  it('beforehand: sends nothing', async () => {
    const network = await startNetwork()
    expect(await rejectionOf(network.api.upload(file, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(network.log).toEqual([])
  })

  it('while it begins: waits for the answer, without which nobody could end the attempt', async () => {
    const network = await startNetwork()
    const start = holding((forward) => forward())
    network.next(START, start.fault)
    const controller = new AbortController()
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await start.reached
    expect(await network.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
    controller.abort()
    start.release()
    expect(await rejection).toMatchObject({ code: 'ABORTED' })
    expect(requestsTo(network, PUT)).toBe(0)
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('while its bytes are sent: ends the attempt', async () => {
    const network = await startNetwork()
    const put = holding(cutBefore)
    network.next(PUT, put.fault)
    const controller = new AbortController()
    const reason = new Error('The user has changed their mind.')
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await put.reached
    controller.abort(reason)
    expect(await rejection).toMatchObject({ code: 'ABORTED', cause: reason })
    expect(requestsTo(network, CONFIRM)).toBe(0)
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    put.release()
  })

  it('when its bytes have just been sent: ends the attempt', async () => {
    const network = await startNetwork()
    const controller = new AbortController()
    network.next(PUT, async (forward) => {
      const answer = await forward()
      controller.abort()
      return answer
    })
    expect(await rejectionOf(network.api.upload(file, { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('before the server has confirmed: ends the attempt', async () => {
    const network = await startNetwork()
    const confirm = holding(cutBefore)
    network.next(CONFIRM, confirm.fault)
    const controller = new AbortController()
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await confirm.reached
    controller.abort()
    expect(await rejection).toMatchObject({ code: 'ABORTED' })
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    confirm.release()
  })

  it('after the server has confirmed: resolves to the object that is there', async () => {
    const network = await startNetwork()
    const confirm = holding(cutAfter)
    network.next(CONFIRM, confirm.fault)
    const controller = new AbortController()
    const steps: number[] = []
    const upload = network.api.upload(file, {
      signal: controller.signal,
      onProgress: ({ loaded }) => steps.push(loaded),
    })
    await confirm.reached
    controller.abort()
    expect(await upload).toMatchObject({ status: 'active', size: file.size })
    expect(steps).toEqual([file.size])
    confirm.release()
  })

  it('after the server has confirmed, with nobody to ask: tells of the abort', async () => {
    const network = await startNetwork()
    const confirm = holding(cutAfter)
    network.next(CONFIRM, confirm.fault, cutBefore)
    const controller = new AbortController()
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await confirm.reached
    controller.abort()
    expect(await rejection).toMatchObject({ code: 'ABORTED' })
    confirm.release()
  })

  it('between two tries to confirm: doesn’t wait for the next', async () => {
    const network = await startNetwork()
    const controller = new AbortController()
    network.next(CONFIRM, cutBefore, async () => {
      // Once this one is cut, the client waits half a second.
      setTimeout(() => controller.abort(), 50)
      return null
    })
    expect(await rejectionOf(network.api.upload(file, { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(requestsTo(network, CONFIRM)).toBe(2)
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })
})
