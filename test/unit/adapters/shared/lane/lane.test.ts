import { StorageError } from '@svc/db'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLane, HELD } from '../../../../../src/adapters/shared/lane/lane.js'
import { createScopeLanes } from '../../../../../src/adapters/shared/lane/scope-lanes.js'
import type { Job } from '../../../../../src/adapters/shared/lane/waiting-jobs.js'
import { contextsOfTest } from '../../../contexts-of-test.js'
import { groupsToEnd, LOST_TURN, type NamedJob, options, turn, UNDONE } from './groups-to-end.js'
import { checkRandomJobs } from './random-jobs.js'

it('settles each of random jobs with its own result, in the order of its key and its scopes', () =>
  checkRandomJobs(40))

it('lets no later job keep one with two scopes waiting', async () => {
  const { names, started, add } = groupsToEnd()
  void add('a', ['x'])
  void add('b', ['y'])
  void add('both', ['x', 'y'])
  void add('c', ['x'])
  await started[0]!.end()
  expect(names()).toEqual(['a', 'b'])
  await started[1]!.end()
  expect(names().at(-1)).toBe('both c')
})

it('takes the earliest jobs first, those included that waited for their keys', async () => {
  const { names, started, add } = groupsToEnd({ counts: 'jobs' })
  void add('a', [], 'key')
  void add('b', [], 'key')
  void add('other', [])
  for (let i = 0; i < 70; i++) void add(`${i}`, [])
  await started[1]!.end()
  await started[0]!.end()
  await started[2]!.end()
  expect(names()[3]).toMatch(/^b 64 65/)
})

it('puts at most 64 jobs into a group', async () => {
  const { started, add } = groupsToEnd()
  for (let i = 0; i < 100; i++) void add(`${i}`, ['x'])
  await started[0]!.end()
  await started[1]!.end()
  expect(started.map(({ names }) => names.length)).toEqual([1, 64, 35])
})

it('runs the parts of an undone group that share no scope at once, and each job of a part alone', async () => {
  const { names, started, add } = groupsToEnd()
  void add('a')
  void add('b')
  const results = [add('c', ['x', 'y']), add('d', ['y', 'x']), add('e', ['y']), add('f', ['w'])]
  void add('g', ['x'])
  await started[0]!.end()
  await started[2]!.end(UNDONE)
  expect(names().slice(3)).toEqual(['c d e g', 'f'])
  await started[4]!.end()
  expect(await results[3]).toBe('f done')
  await started[3]!.end(UNDONE)
  expect(names().slice(5)).toEqual(['c'])
  void add('h', ['x'])
  const reason = new Error('refused')
  await Promise.all([started[5]!.end(reason), expect(results[0]).rejects.toBe(reason)])
  for (const next of [6, 7, 8]) await started[next]!.end()
  expect(names().slice(6)).toEqual(['d', 'e', 'g', 'h'])
})

it('lets no job of an undone group run with the scopes of others, unless its own include them', async () => {
  const { names, started, add } = groupsToEnd()
  void add('a', ['x'])
  void add('b', ['x'])
  void add('c', ['x', 'y'])
  void add('d', ['y', 'z'])
  void add('e', ['z'])
  await started[0]!.end()
  expect(names()).toEqual(['a', 'b c d e'])
  await started[1]!.end(UNDONE)
  expect(names().slice(2)).toEqual(['b c'])
  void add('f', ['x'])
  await started[2]!.end(UNDONE)
  expect(names().slice(3)).toEqual(['b'])
  await started[3]!.end()
  expect(names().slice(4)).toEqual(['c'])
  await started[4]!.end()
  expect(names().slice(5)).toEqual(['d e', 'f'])
})

it('lets the jobs of a group that lost its turn pause and wait again, and others join them', async () => {
  const pauses: (() => void)[] = []
  const { names, started, add } = groupsToEnd({
    pauseIfLost: (error) =>
      error === LOST_TURN ? new Promise<void>((resolve) => pauses.push(resolve)) : null,
  })
  const results = [add('a', ['x']), add('b', ['x']), add('other', ['y'])]
  await started[0]!.end(LOST_TURN)
  // A group that pauses is not in flight.
  results.push(add('third', ['z']), add('c', ['x']))
  await started[2]!.end()
  expect(names()).toEqual(['a', 'other', 'third'])
  pauses[0]!()
  await turn()
  expect(names().slice(3)).toEqual(['a b c'])
  await started[3]!.end(LOST_TURN)
  results.push(add('d', ['x']))
  pauses[1]!()
  await turn()
  expect(names().slice(4)).toEqual(['a b c d'])
  await started[4]!.end()
  await started[1]!.end()
  expect(await Promise.all(results)).toEqual(
    ['a', 'b', 'other', 'third', 'c', 'd'].map((name) => `${name} done`),
  )
})

it('runs a held job of an undone group by itself, without waiting for the others of that group', async () => {
  const groups: string[] = []
  let holds = 0
  const lane = createLane<NamedJob, true>({
    ...options,
    async run(jobs) {
      const names = jobs.map(({ name }) => name)
      groups.push(names.join(' '))
      await turn()
      if (!names.includes('held') || holds === 2) return names.map(() => true)
      if (names.length > 1) throw UNDONE
      return [HELD]
    },
    async hold(job) {
      if (holds++ === 0) others.push(add('c'), add('d'))
      return { again: job }
    },
  })
  const others: Promise<true>[] = []
  const add = (name: string) => lane.add({ name, key: name, scopes: ['scope'] })
  await Promise.all(['a', 'held', 'b'].map(add))
  await Promise.all(others)
  expect(groups).toEqual(['a', 'held b', 'held', 'held', 'held', 'b', 'c d'])
})

it('frees the scopes of a part of an undone group when the part ends, not again with the last', async () => {
  const { names, started, add } = groupsToEnd()
  for (const name of ['a', 'b', 'c', 'd']) void add(name)
  await started[0]!.end()
  await started[1]!.end()
  await started[2]!.end(UNDONE)
  await started[3]!.end()
  void add('e', ['c'])
  await started[4]!.end()
  void add('f', ['c'])
  expect(names()).toEqual(['a', 'b', 'c d', 'c', 'd', 'e'])
})

it('runs the jobs of an undone group without scopes at once, none of which waits for one that hangs', async () => {
  const { names, started, add } = groupsToEnd({ counts: 'jobs' })
  const [, , , , other] = ['a', 'b', 'hanging', 'refused', 'other'].map((name) => add(name, []).catch(String))
  await started[0]!.end()
  await started[1]!.end()
  await started[2]!.end(UNDONE)
  expect(names().slice(3)).toEqual(['hanging', 'refused', 'other'])
  await started[4]!.end(UNDONE)
  await started[5]!.end()
  expect(await other).toBe('other done')
})

it('rejects all jobs of a group that may have had an effect, and goes on', async () => {
  const { started, add } = groupsToEnd()
  const settled = Promise.allSettled(['first', 'a', 'b'].map((name) => add(name, ['x'])))
  await started[0]!.end()
  const next = add('next', ['x'])
  const reason = new Error('broken')
  await started[1]!.end(reason)
  expect((await settled).slice(1)).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ])
  await started[2]!.end()
  expect(await next).toBe('next done')
})

it('leaves no job waiting if it can’t tell whether a group had an effect, and goes on', async () => {
  const reason = new TypeError('unexpected')
  const { started, add } = groupsToEnd({
    wasUndone() {
      throw reason
    },
  })
  const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => add(name, ['x'])))
  await started[0]!.end()
  await started[1]!.end(new Error('lost'))
  expect((await settled).slice(1)).toMatchObject([{ reason }, { reason }])
  void add('next', ['x'])
  expect(started).toHaveLength(3)
})

it('keeps no job waiting for the key of another', async () => {
  const keys = fc.nat(3)
  await fc.assert(
    fc.asyncProperty(
      fc.array(keys, { maxLength: 15 }),
      fc.uniqueArray(keys),
      fc.constantFrom('jobs', 'groups'),
      async (jobs, heldKeys, counts) => {
        const isHeld = (key: number) => heldKeys.includes(key)
        const done: number[] = []
        let free: () => void = () => {}
        const freed = new Promise<void>((resolve) => (free = resolve))
        const lane = createLane<Job, true>({
          ...options,
          counts,
          run: async (group) => group.map(({ key }) => (isHeld(Number(key)) ? HELD : true)),
          hold: () => freed.then(() => ({ result: true })),
        })
        const scopes = counts === 'jobs' ? [] : ['x']
        const calls = jobs.map((key) => lane.add({ key: `${key}`, scopes }).then(() => void done.push(key)))
        await turn()
        expect(done.toSorted()).toEqual(jobs.filter((key) => !isHeld(key)).toSorted())
        free()
        await Promise.all(calls)
      },
    ),
  )
})

it('refuses a job if 10,000 of its scope wait, not those of other scopes', async () => {
  const { add } = groupsToEnd()
  for (let i = 0; i < 10_000; i++) void add(`${i}`, ['x'])
  await expect(add('more', ['x'])).rejects.toThrow(
    new StorageError('DATABASE_UNAVAILABLE', {
      message: 'Too many writes of one scope: 10000 are waiting already, so this one was not started.',
    }),
  )
  void add('other', ['y'])
})

it.each([
  ['of one key', () => ({ key: 'key', scopes: [] })],
  ['of one key and one scope', () => ({ key: 'key', scopes: ['x'] })],
  ['of one scope', (index: number) => ({ key: `${index}`, scopes: ['x'] })],
  ['of two scopes', (index: number) => ({ key: `${index}`, scopes: ['x', 'y'] })],
  ['of scopes of their own', (index: number) => ({ key: `${index}`, scopes: [`${index}`] })],
])('looks at a job equally often, however many %s wait', async (_, jobOf) => {
  const looksPerJob = async (count: number) => {
    let looks = 0
    const lane = createLane<Job, true>({ ...options, run: async (jobs) => jobs.map(() => true) })
    const watched = (index: number): Job => {
      const { key, scopes } = jobOf(index)
      return {
        get key() {
          looks++
          return key
        },
        get scopes() {
          looks++
          return scopes
        },
      }
    }
    await Promise.all(Array.from({ length: count }, (_, index) => lane.add(watched(index))))
    return looks / count
  }
  expect(await looksPerJob(4000)).toBeLessThan(1.2 * (await looksPerJob(200)))
})

describe('jobs that are ended', () => {
  const isB = ({ name }: NamedJob) => name.startsWith('b')

  it('never run if they wait, and later ones of their keys take their turn', async () => {
    const { lane, names, started, add } = groupsToEnd()
    void add('a', ['x'])
    const ended = [add('b', ['x'], 'key'), add('b2', ['x'], 'key of a')]
    void add('c', [], 'key')
    expect(names()).toEqual(['a'])
    lane.end(isB, 'ended')
    expect(names()).toEqual(['a', 'c'])
    expect(await Promise.all(ended)).toEqual(['ended', 'ended'])
    void add('d', ['x'], 'key of a')
    await started[0]!.end()
    await started[1]!.end()
    expect(names()).toEqual(['a', 'c', 'd'])
  })

  it('have their result at once if they run, and do not run again', async () => {
    const { lane, names, started, add } = groupsToEnd()
    void add('a', ['x'])
    const ended = add('b', ['x'])
    void add('c', ['x'])
    await started[0]!.end()
    expect(names()).toEqual(['a', 'b c'])
    lane.end(isB, 'ended')
    expect(await ended).toBe('ended')
    await started[1]!.end(UNDONE)
    expect(names()).toEqual(['a', 'b c', 'c'])
  })
})

describe('with a clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it('lets a group that takes too long keep no other scopes waiting', async () => {
    const { names, started, add } = groupsToEnd({ patience: 100 })
    const set = vi.spyOn(globalThis, 'setTimeout')
    const clear = vi.spyOn(globalThis, 'clearTimeout')
    void add('a')
    void add('b')
    void add('c')
    void add('d', ['a'])
    vi.advanceTimersByTime(99)
    expect(names()).toEqual(['a', 'b'])
    vi.advanceTimersByTime(1)
    expect(names()).toEqual(['a', 'b', 'c'])
    const timerOfC = set.mock.results.at(-1)!.value as unknown
    // Neither of the two counts any longer, also not when it ends.
    await started[1]!.end()
    void add('e')
    void add('f')
    expect(names()).toEqual(['a', 'b', 'c', 'e'])
    await started[0]!.end()
    expect(names()).toHaveLength(4)
    await started[2]!.end()
    expect(names().at(-1)).toBe('d f')
    // Not the number of timers, because work that another file has left running may have set some.
    expect(clear.mock.calls.some(([timer]) => timer === timerOfC)).toBe(true)
  })
})

it('rejects a job that is too late to start, also one of an undone group, and goes on', async () => {
  const late = new Set<string>()
  const error = new Error('late')
  const { names, started, add } = groupsToEnd({ tooLate: ({ name }) => (late.has(name) ? error : null) })
  const calls = ['a', 'b', 'c', 'd'].map((name) => add(name, ['x']))
  late.add('b')
  await Promise.all([started[0]!.end(), expect(calls[1]).rejects.toBe(error)])
  late.add('d')
  await started[1]!.end(UNDONE)
  await Promise.all([started[2]!.end(), expect(calls[3]).rejects.toBe(error)])
  void add('e', ['x'])
  expect(names()).toEqual(['a', 'c d', 'c', 'e'])
})

it('runs a job that waited in the async context of no other caller', async () => {
  const callers = contextsOfTest()
  const seen: string[] = []
  const see = (...names: readonly string[]) =>
    void seen.push(`${names.join(' ')} in ${callers.getStore() ?? 'none'}`)
  const lane = createLane<NamedJob, true>({
    ...options,
    async run(jobs) {
      const names = jobs.map(({ name }) => name)
      see(...names)
      await turn()
      if (names.includes('undone') && names.length > 1) throw UNDONE
      return names.map((name) => (name === 'held' ? HELD : true))
    },
    hold({ name }) {
      see(name)
      return Promise.resolve({ result: true })
    },
  })
  const add = (name: string) =>
    callers.run(`context of ${name}`, () => lane.add({ name, key: name, scopes: ['scope'] }))
  await Promise.all(['a', 'undone', 'b'].map(add))
  await turn()
  await Promise.all(['held', 'c'].map(add))
  expect(seen).toEqual([
    'a in context of a',
    'undone b in none',
    'undone in none',
    'b in none',
    'held in context of held',
    'held in context of held',
    'c in none',
  ])
})

describe('a lane for each scope', () => {
  it('lets no scope wait for another, and takes no memory when all have settled', async () => {
    const ends: (() => void)[] = []
    const lanes = createScopeLanes<NamedJob, true>({
      ...options,
      counts: 'jobs',
      run: (jobs) => new Promise((resolve) => ends.push(() => resolve(jobs.map(() => true)))),
    })
    const calls = ['x', 'y', 'z'].flatMap((scope) =>
      ['a', 'b', 'c', 'd'].map((name) => lanes.laneOf(scope).add({ name, key: name, scopes: [] })),
    )
    expect(ends).toHaveLength(6)
    while (ends.length > 0) {
      ends.shift()!()
      await turn()
    }
    await Promise.all(calls)
    expect(lanes.size).toBe(0)
  })

  it('keeps apart the jobs of scopes whose lane was used before, and takes few lanes', async () => {
    const seen: string[][] = []
    const lanes = createScopeLanes<NamedJob, true>({
      ...options,
      counts: 'jobs',
      async run(jobs) {
        seen.push(jobs.map(({ name }) => name))
        await turn()
        return jobs.map(() => true)
      },
    })
    const used = new Set<unknown>()
    const add = (scope: string, name: string) => {
      const lane = lanes.laneOf(scope)
      used.add(lane)
      return lane.add({ name, key: name, scopes: [] })
    }
    for (let round = 0; round < 3; round++) {
      await add(`first ${round}`, 'alone')
      const names = ['a', 'b', 'c', 'd']
      await Promise.all(
        ['x', 'y'].flatMap((scope) => names.map((name) => add(`${scope} ${round}`, `${scope}${name}`))),
      )
    }
    expect(seen.filter((names) => new Set(names.map(([scope]) => scope)).size > 1)).toEqual([])
    // Nine scopes; a caller may write again before the lane of the last one is idle.
    expect(used.size).toBe(3)
    await turn()
    expect(lanes.size).toBe(0)
  })

  it('runs no two jobs of one key, however soon the next ones come', async () => {
    for (let microtasks = 0; microtasks < 12; microtasks++) {
      let inFlight = 0
      const seen: number[] = []
      const { laneOf } = createScopeLanes<Job, true>({
        ...options,
        counts: 'jobs',
        async run(jobs) {
          seen.push(++inFlight)
          await turn()
          inFlight--
          return jobs.map(() => true)
        },
      })
      const add = () => laneOf('scope').add({ key: 'key', scopes: [] })
      await add()
      for (let i = 0; i < microtasks; i++) await Promise.resolve()
      const second = add()
      for (let i = 0; i < 6; i++) await Promise.resolve()
      await Promise.all([second, add(), add()])
      expect(seen).toEqual([1, 1, 1, 1])
    }
  })
})
