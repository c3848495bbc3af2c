import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTransactionGroups } from '../../../../src/adapters/mongo/writes/transaction-groups.js'

interface Batch {
  readonly name: string
  readonly documents: readonly string[]
  readonly size: number
}

/** A transaction that a test ends. */
interface Started {
  readonly names: readonly string[]
  /** Ends it with its results, with `null`, which undoes it, or with an error. */
  end(outcome?: 'done' | 'undone' | Error): Promise<void>
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

function groupsToEnd() {
  const started: Started[] = []
  const start = <T>(batches: readonly Batch[], results: T) =>
    new Promise<T | null>((resolve, reject) => {
      started.push({
        names: batches.map(({ name }) => name),
        async end(outcome = 'done') {
          if (outcome === 'done') resolve(results)
          else if (outcome === 'undone') resolve(null)
          else reject(outcome)
          await turn()
          await turn()
        },
      })
    })
  const run = createTransactionGroups<Batch, string>({
    runTogether: (batches) =>
      start(
        batches,
        batches.map(({ name }) => `${name} together`),
      ),
    runAlone: async (batch) => (await start([batch], `${batch.name} alone`))!,
    documentsOf: ({ documents }) => documents,
    sizeOf: ({ size }) => size,
  })
  return {
    started,
    names: () => started.map(({ names }) => names.join(' ')),
    run: (name: string, documents: readonly string[] = [name], size = 1) => run({ name, documents, size }),
  }
}

describe('transaction groups', () => {
  it('run two batches at once, and those that wait for them together', async () => {
    const { names, started, run } = groupsToEnd()
    const results = ['a', 'b', 'c', 'd'].map((name) => run(name))
    expect(names()).toEqual(['a', 'b'])
    await started[0]!.end()
    expect(names()).toEqual(['a', 'b', 'c d'])
    results.push(run('e'))
    expect(names()).toHaveLength(3)
    await started[2]!.end()
    expect(names().at(-1)).toBe('e')
    await started[1]!.end()
    await started[3]!.end()
    expect(await Promise.all(results)).toEqual([
      ...['a alone', 'b alone', 'c together', 'd together', 'e alone'],
    ])
  })

  it('of batches with a document in common run one after the other, in order', async () => {
    const { names, started, run } = groupsToEnd()
    void run('a', ['x'])
    void run('b', ['x', 'y'])
    void run('c', ['y'])
    void run('d', ['z'])
    expect(names()).toEqual(['a', 'd'])
    await started[1]!.end()
    expect(names()).toHaveLength(2)
    await started[0]!.end()
    expect(names().at(-1)).toBe('b')
    await started[2]!.end()
    expect(names().at(-1)).toBe('c')
  })

  it('have 64 writes at most, unless a batch alone has more', async () => {
    const { names, started, run } = groupsToEnd()
    void run('a')
    void run('b')
    void run('c', ['c'], 40)
    void run('d', ['d'], 25)
    void run('e', ['e'], 24)
    void run('f', ['f'], 65)
    await started[0]!.end()
    expect(names().at(-1)).toBe('c e')
    await started[1]!.end()
    expect(names().at(-1)).toBe('d')
    await started[2]!.end()
    expect(names().at(-1)).toBe('f')
  })

  it('that are undone run each batch alone, and each is settled on its own', async () => {
    const { names, started, run } = groupsToEnd()
    const [, , c, d] = ['a', 'b', 'c', 'd'].map((name) => run(name))
    await started[0]!.end()
    await started[2]!.end('undone')
    expect(names().slice(3)).toEqual(['c', 'd'])
    await started[4]!.end()
    expect(await d).toBe('d alone')
    const later = [run('d'), run('c')]
    await started[1]!.end()
    // The document of c is still in use.
    expect(names().slice(5)).toEqual(['d'])
    const refused = expect(c).rejects.toThrow('refused')
    await started[3]!.end(new Error('refused'))
    await refused
    await started[5]!.end()
    await started[6]!.end()
    expect(await Promise.all(later)).toEqual(['d alone', 'c alone'])
  })

  it('that fail reject all of their batches', async () => {
    const { started, run } = groupsToEnd()
    void run('a')
    void run('b')
    const failed = Promise.allSettled([run('c'), run('d')])
    await started[0]!.end()
    const reason = new Error('unknown outcome')
    await started[2]!.end(reason)
    expect(await failed).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
  })

  describe('that take long', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    it('keep no others waiting after 100 milliseconds, except those that write the same document', async () => {
      const { names, started, run } = groupsToEnd()
      void run('a')
      void run('b')
      void run('c')
      void run('d', ['a'])
      vi.advanceTimersByTime(99)
      expect(names()).toEqual(['a', 'b'])
      vi.advanceTimersByTime(1)
      expect(names()).toEqual(['a', 'b', 'c'])
      // Neither of the two counts any longer, also not when it ends.
      await started[1]!.end()
      void run('e')
      void run('f')
      expect(names()).toEqual(['a', 'b', 'c', 'e'])
      await started[0]!.end()
      expect(names()).toHaveLength(4)
      await started[2]!.end()
      expect(names().at(-1)).toBe('d f')
      expect(vi.getTimerCount()).toBe(2)
    })
  })

  it('never have two batches in flight that write the same document, keep their order, and settle all', async () => {
    const batches = fc.array(
      fc.record({
        documents: fc.uniqueArray(fc.nat(5).map(String), { minLength: 1, maxLength: 3 }),
        outcome: fc.constantFrom('done', 'done', 'undone', 'failed' as const),
      }),
      { maxLength: 25 },
    )
    await fc.assert(
      fc.asyncProperty(batches, fc.scheduler(), async (list, scheduler) => {
        const faults: string[] = []
        const inFlight: number[] = []
        const ended: number[] = []
        const transaction = async (indexes: readonly number[]) => {
          inFlight.push(...indexes)
          const documents = inFlight.flatMap((index) => list[index]!.documents)
          if (new Set(documents).size < documents.length) faults.push(`together: ${inFlight.join()}`)
          await scheduler.schedule(Promise.resolve())
          for (const index of indexes) inFlight.splice(inFlight.indexOf(index), 1)
        }
        const run = createTransactionGroups<number, string>({
          async runTogether(indexes) {
            await transaction(indexes)
            const outcomes = indexes.map((index) => list[index]!.outcome)
            if (outcomes.includes('undone')) return null
            ended.push(...indexes)
            if (outcomes.includes('failed')) throw new Error('failed')
            return indexes.map(String)
          },
          async runAlone(index) {
            await transaction([index])
            ended.push(index)
            if (list[index]!.outcome === 'failed') throw new Error('failed')
            return `${index}`
          },
          documentsOf: (index) => list[index]!.documents,
          sizeOf: () => 1,
        })
        const settled = Promise.allSettled(list.map((_, index) => run(index)))
        const results = await scheduler.waitFor(settled)
        expect(faults).toEqual([])
        results.forEach((result, index) => {
          if (result.status === 'fulfilled') expect(result.value).toBe(`${index}`)
        })
        expect([...ended].sort((a, b) => a - b)).toEqual(list.map((_, index) => index))
        for (const document of ['0', '1', '2', '3', '4', '5']) {
          const users = ended.filter((index) => list[index]!.documents.includes(document))
          expect(users).toEqual([...users].sort((a, b) => a - b))
        }
      }),
    )
  })
})
