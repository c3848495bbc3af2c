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

describe('an upload whose connection breaks', () => {
  it('before the start request, three times: starts nothing', async () => {
    const network = await startNetwork()
    network.next(START, cutBefore, cutBefore, cutBefore)
    const error = await rejectionOf(network.api.upload(file))
    expect(error).toMatchObject({ code: 'NETWORK_ERROR', message: 'POST /upload: no response.' })
    expect(error.status).toBeUndefined()
    expect(network.log).toEqual(Array(3).fill('POST /api/s3/upload'))
    expect(await network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('before the bytes arrive: sends them again', async () => {
    const network = await startNetwork()
    network.next(PUT, cutBefore, cutBefore)
    expect(await network.api.upload(file)).toMatchObject({ status: 'active' })
    expect(requestsTo(network, PUT)).toBe(3)
    expect(requestsTo(network, START)).toBe(1)
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })

  it('after the bytes have arrived: resolves', async () => {
    const network = await startNetwork()
    network.next(PUT, cutAfter)
    const steps: number[] = []
    const object = await network.api.upload(file, { onProgress: ({ loaded }) => steps.push(loaded) })
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(steps).toEqual([file.size])
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })

  it.each([
    ['a page of a gateway', 504],
    ['a bucket that got the bytes twice', 412],
    ['a bucket that got them twice concurrently', 409],
  ])('after the bytes have arrived, by %s: resolves', async (_, status) => {
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
  ])('%s the server confirms: retries', async (_, fault) => {
    const network = await startNetwork()
    network.next(CONFIRM, fault, fault)
    expect(await network.api.upload(file)).toMatchObject({ status: 'active', size: file.size })
    expect(requestsTo(network, CONFIRM)).toBe(3)
    expect(requestsTo(network, ABORT)).toBe(0)
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })

  it('during the abort: rejects with the first error, and leaves the reservation to expire', async () => {
    const network = await startNetwork()
    network.next(PUT, page(400))
    network.next(ABORT, cutBefore)
    expect(await rejectionOf(network.api.upload(file))).toMatchObject({
      status: 400,
      code: 'UNEXPECTED_RESPONSE',
    })
    expect(await network.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
  })
})

describe('an upload whose server fails temporarily', () => {
  it.each([429, 502, 503])('retries after %i', async (status) => {
    const network = await startNetwork()
    network.next(CONFIRM, page(status))
    expect(await network.api.upload(file)).toMatchObject({ status: 'active' })
    expect(requestsTo(network, CONFIRM)).toBe(2)
  })

  it.each([400, 404, 200])('does not retry after a page with %i, and keeps what arrived', async (status) => {
    const network = await startNetwork()
    network.next(CONFIRM, page(status))
    expect(await rejectionOf(network.api.upload(file))).toMatchObject({ status, code: 'UNEXPECTED_RESPONSE' })
    expect([requestsTo(network, CONFIRM), requestsTo(network, ABORT)]).toEqual([1, 0])
    expect(await network.api.settleUploads()).toEqual({ confirmed: 1, ended: 0, kept: 0 })
    expect(await network.objects.getScopeUsage('ada')).toEqual(ONE_FILE)
  })
})

describe('an aborted upload', () => {
  it('sends nothing if aborted beforehand', async () => {
    const network = await startNetwork()
    expect(await rejectionOf(network.api.upload(file, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(network.log).toEqual([])
  })

  it('rejects before the start request has a response, and aborts the attempt after it', async () => {
    const network = await startNetwork()
    const start = holding((forward) => forward())
    network.next(START, start.fault)
    const controller = new AbortController()
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await start.reached
    expect(await network.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
    controller.abort()
    expect(await rejection).toMatchObject({ code: 'ABORTED' })
    start.release()
    expect(requestsTo(network, PUT)).toBe(0)
    await expect.poll(() => network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('aborts the attempt while bytes are sent', async () => {
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
    await expect.poll(() => network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    put.release()
  })

  it('aborts the attempt right after the bytes were sent', async () => {
    const network = await startNetwork()
    const controller = new AbortController()
    network.next(PUT, async (forward) => {
      const response = await forward()
      controller.abort()
      return response
    })
    expect(await rejectionOf(network.api.upload(file, { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    await expect.poll(() => network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('aborts the attempt before the server has confirmed', async () => {
    const network = await startNetwork()
    const confirm = holding(cutBefore)
    network.next(CONFIRM, confirm.fault)
    const controller = new AbortController()
    const rejection = rejectionOf(network.api.upload(file, { signal: controller.signal }))
    await confirm.reached
    controller.abort()
    expect(await rejection).toMatchObject({ code: 'ABORTED' })
    await expect.poll(() => network.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    confirm.release()
  })

  it('resolves to the object if the server has already confirmed', async () => {
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

  it('rejects with ABORTED if the server has confirmed but is unreachable', async () => {
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
})
