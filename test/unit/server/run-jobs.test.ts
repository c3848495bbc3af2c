import { runJobs, type JobRun, type RunJobsOptions } from '@svc/db'
import { beforeEach, describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { deferred, recordingStore, remaining, until } from './events/changed-objects.js'
import { withFakeTimers } from './events/fake-timers.js'
import { around, beginAndPut, startService, type ServiceOptions } from './service.js'

const AWAY = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

describe('runJobs', () => {
  let { store, clock } = recordingStore()
  let stopping = new AbortController()
  let runs: JobRun[] = []
  const pass = withFakeTimers(() => clock)
  beforeEach(() => {
    ;({ store, clock } = recordingStore())
    stopping = new AbortController()
    runs = []
  })

  const start = (options: ServiceOptions = {}) => startService({ objects: store, clock, ...options })
  const run = (service: ReturnType<typeof start>, options: Partial<RunJobsOptions> = {}) =>
    runJobs(service.s3, {
      ...{ signal: stopping.signal, onRun: (each) => void runs.push(each) },
      ...options,
    })
  const runsOf = (job: JobRun['job']) => runs.filter((each) => each.job === job).map(({ result }) => result)

  it('runs each job at once, and again some time after its last run has ended', async () => {
    const service = start()
    const slow = deferred()
    let lists = 0
    around(store, 'listExpired', (list) => async (input) => {
      if (++lists === 2) await slow.promise
      return list(input)
    })
    const jobs = run(service, { cleanUpEverySeconds: 10 })
    await until(() => runs.length === 1)
    await pass(9)
    expect(lists).toBe(1)
    await pass(1)
    await pass(100)
    expect(lists).toBe(2)
    slow.resolve()
    await until(() => runs.length === 2)
    await pass(10)
    await until(() => runs.length === 3)
    stopping.abort()
    expect(await jobs).toBe(undefined)
    expect(runs.map(({ job }) => job)).toEqual(['cleanUp', 'cleanUp', 'cleanUp'])
  })

  it('records finished uploads, and removes history that is older than given', async () => {
    const service = start()
    const ann = service.as('user:1')
    await beginAndPut(ann)
    const { key } = await ann.upload()
    await ann.delete(key)
    clock.advance(48 * HOUR)
    const recent = await ann.upload()
    await ann.delete(recent.key)
    const jobs = run(service, { purgeDeletedAfterSeconds: 24 * 3600 })
    await until(() => runs.length === 2)
    stopping.abort()
    await jobs
    expect(runsOf('cleanUp')).toMatchObject([{ reservations: { confirmed: 1 } }])
    expect(runsOf('purgeDeleted')).toEqual([1])
    expect(await store.listByScope({ scope: 'user:1', status: 'deleted' })).toMatchObject({
      objects: [{ key: recent.key }],
    })
  })

  it('purges page by page until nothing older is left, or the signal aborts', async () => {
    const service = start()
    const pages = [1000, 1000, 7, 1000]
    around(store, 'purgeDeleted', () => async () => {
      if (pages.length === 1) stopping.abort()
      return pages.shift()!
    })
    const jobs = run(service, { purgeDeletedAfterSeconds: 0 })
    await until(() => runsOf('purgeDeleted').length === 1)
    await pass(300)
    await jobs
    expect(runsOf('purgeDeleted')).toEqual([2007, 1000])
  })

  it('delivers events all the time, and tells the result at the end', async () => {
    const seen: string[] = []
    const service = start({ onEvent: ({ type }) => void seen.push(type) })
    const ann = service.as('user:1')
    // Closed, so that only the job delivers.
    await service.s3.close()
    await ann.upload()
    const jobs = run(service)
    await until(() => seen.length === 1)
    await ann.upload()
    await pass(5)
    await until(() => seen.length === 2)
    stopping.abort()
    await jobs
    expect(runsOf('deliverEvents')).toEqual([{ delivered: 2, failed: [] }])
    expect(await remaining(store)).toBe(0)
  })

  it('delivers no events if told so', async () => {
    const service = start({ onEvent: () => expect.unreachable() })
    await service.s3.close()
    await service.as('user:1').upload()
    const jobs = run(service, { deliverEvents: false })
    await pass(60)
    stopping.abort()
    await jobs
    expect(await remaining(store)).toBe(1)
    expect(runsOf('deliverEvents')).toEqual([])
  })

  it('reports each run that fails, and runs it again at its next time', async () => {
    const service = start()
    let failures = 2
    around(store, 'listExpired', (list) => async (input) => {
      if (failures-- > 0) throw AWAY
      return list(input)
    })
    const jobs = run(service, { purgeDeletedAfterSeconds: 0 })
    await until(() => runs.length === 1)
    expect(await service.reportedBy('cleanUp')).toHaveLength(1)
    await pass(300)
    await until(() => service.reported.length === 2)
    await pass(300)
    await until(() => runsOf('cleanUp').length === 1)
    stopping.abort()
    await jobs
    expect(runsOf('purgeDeleted')).toEqual([0, 0, 0])
    expect(await service.reportedBy('cleanUp')).toHaveLength(2)
  })

  it('reports a database that is away once a run, whatever fails in it', async () => {
    const service = start()
    await service.as('user:1').begun()
    await service.as('user:1').begun()
    clock.advance(3 * HOUR)
    around(store, 'release', () => () => Promise.reject(AWAY))
    let lists = 0
    around(store, 'listLeftovers', () => () => (lists++, Promise.reject(AWAY)))
    const jobs = run(service)
    await until(() => lists === 1)
    await pass(300)
    await until(() => lists === 2)
    stopping.abort()
    await jobs
    expect(await service.reportedBy('cleanUp')).toHaveLength(2)
  })

  it('goes on with the other jobs on a database that records no events', async () => {
    const service = startService({ clock, onEvent: () => undefined })
    const jobs = run(service)
    await pass(600)
    expect(runsOf('cleanUp')).toHaveLength(3)
    expect(await service.reportedBy('deliverEvents')).toMatchObject([
      { message: expect.stringContaining('records no events') as string },
    ])
    stopping.abort()
    await jobs
  })

  it('completes what is in progress when its signal aborts, and gives handlers 30 seconds', async () => {
    const signals: AbortSignal[] = []
    const onEvent = (_event: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    const service = start({ onEvent })
    await service.s3.close()
    await service.as('user:1').upload()
    const slow = deferred()
    around(store, 'listLeftovers', (list) => async (input) => {
      await slow.promise
      return list(input)
    })
    let isEnded = false
    const jobs = run(service).then(() => void (isEnded = true))
    await until(() => signals.length === 1)
    stopping.abort()
    await pass(29)
    expect(signals[0]!.aborted).toBe(false)
    await pass(1)
    expect([signals[0]!.aborted, isEnded]).toEqual([true, false])
    slow.resolve()
    await jobs
    expect(runsOf('cleanUp')).toHaveLength(1)
  })

  it('reports what onRun throws, and goes on', async () => {
    const service = start()
    const failure = new Error('no metrics')
    const jobs = run(service, { onRun: () => Promise.reject(failure) })
    await until(() => service.reported.length === 1)
    await pass(300)
    await until(() => service.reported.length === 2)
    stopping.abort()
    await jobs
    expect(await service.reportedBy('cleanUp')).toEqual([failure, failure])
  })

  it('needs a handler to deliver events', async () => {
    await expect(run(start(), { deliverEvents: {} })).rejects.toThrow(
      new TypeError('runJobs: deliverEvents needs a server with the option onEvent.'),
    )
  })
})
