import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { BROKEN_STORES } from '../broken-stores/index.js'
import { collectTests } from './collect-tests.js'
import { isScript, rejections } from './rejections.js'

describe('the suite', () => {
  it.each(BROKEN_STORES)('rejects a store that $defect ($part)', async (mutant) => {
    const { rejectedBy } = mutant
    const rejected = await rejections(mutant, (title) => rejectedBy.includes(title))
    expect(rejected).toEqual(expect.arrayContaining([...rejectedBy]))
  })
})

describe('the broken stores', () => {
  it('each have their own name', () => {
    const defects = BROKEN_STORES.map(({ defect }) => defect)
    expect(defects).toEqual([...new Set(defects)])
  })

  it('include one for every script', () => {
    const titles = collectTests({ name: 'memory', createStore: memoryAdapter }).map(({ title }) => title)
    const named = new Set(BROKEN_STORES.flatMap(({ rejectedBy }) => rejectedBy))
    expect(titles.filter((title) => isScript(title) && !named.has(title))).toEqual([])
  })
})
