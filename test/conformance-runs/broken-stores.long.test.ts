import { brokenStores } from '@svc/db/conformance'
import { describe, expect, it } from 'vitest'
import { collectTests } from './collect-tests.js'

describe('brokenStores', () => {
  it('lists stores by the part of the contract that they break, with the tests that reject them', async () => {
    const stores = await brokenStores()
    expect(stores.length).toBeGreaterThan(400)
    const { part, rejectedBy, createStore, options, defect } = stores.find(
      (each) => each.defect === "doesn't check usage",
    )!
    expect(part).toBe('places')
    const tests = collectTests({ name: defect, createStore, ...options })
    const rejecting = tests.filter(({ title }) => rejectedBy.includes(title))
    expect(rejecting).toHaveLength(rejectedBy.length)
    for (const { run } of rejecting) await expect(run()).rejects.toThrow('checkUsage')
  })
})
