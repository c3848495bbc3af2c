import { expect, it } from 'vitest'
import type { Leftover } from '@svc/db'
import { fairShares } from '../../../src/server/jobs/fair-shares.js'

const DATE = new Date(0)

/** Returns the order in which a list of leftovers is yielded, by their positions in it. `scopes` names their owners. */
async function orderOf(scopes: readonly string[]): Promise<number[]> {
  const leftovers = scopes.map((scope, index): Leftover => {
    const at = { bucket: 'files', key: 'a', storageKey: 'a', uploadId: null }
    const attemptId = String(index).padStart(6, '0')
    return {
      ...at,
      attemptId,
      scope,
      since: DATE,
      writableUntil: DATE,
      dueAt: index < 50 ? null : DATE,
      readableUntil: null,
    }
  })
  async function* pagesFrom(after: Leftover | null) {
    for (let start = after ? Number(after.attemptId) + 1 : 0; start < leftovers.length; start += 70) {
      yield leftovers.slice(start, start + 70)
    }
  }
  const order: number[] = []
  for await (const page of fairShares(pagesFrom))
    order.push(...page.map(({ attemptId }) => Number(attemptId)))
  return order
}

const times = (count: number, scopeOf: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => scopeOf(i))
const upTo = (start: number, end: number) => Array.from({ length: end - start }, (_, index) => start + index)

it('yields the rest of scopes that have more after the first share of all', async () => {
  const scopes = [...times(120, () => 'a'), ...times(130, () => 'b'), 'c', ...times(10, () => 'a')]
  const shares = [...upTo(0, 100), ...upTo(120, 220), 250]
  const rests = [...upTo(100, 120), ...upTo(220, 250), ...upTo(251, 261)]
  expect(await orderOf(scopes)).toEqual([...shares, ...rests])
})

it('forgets the count of a scope after 10,000 others, and yields each leftover once all the same', async () => {
  const others = times(10_000, (index) => `other ${index}`)
  const scopes = [...times(60, () => 'a'), ...times(101, () => 'b'), ...others, ...times(60, () => 'a'), 'b']
  const rest = [160, scopes.length - 1]
  expect(await orderOf(scopes)).toEqual([
    ...upTo(0, scopes.length).filter((at) => !rest.includes(at)),
    ...rest,
  ])
})
