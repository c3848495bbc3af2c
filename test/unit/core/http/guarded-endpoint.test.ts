import { describe, expect, it, vi } from 'vitest'
import { StorageError } from '@svc/db'
import {
  guardedEndpoint,
  readingEndpoint,
  type Exchange,
  type GuardedOperation,
} from '../../../../src/core/http/endpoint.js'
import { parseQuery } from '../../../../src/core/http/query.js'
import type { HttpFields } from '../../../../src/core/http/fields.js'

const STEPS = ['scope', 'input', 'ownership', 'guard', 'act'] as const
type Step = (typeof STEPS)[number]

const request = new Request('http://localhost/api/s3/thing')

/** An operation that records its steps. The step `denies` throws. */
function operation(denies: Step | null, error: Error = new StorageError('FORBIDDEN')) {
  const taken: Step[] = []
  const take = (step: Step) => {
    taken.push(step)
    if (step === denies) throw error
  }
  const report = vi.fn()
  const exchange: Exchange = {
    request,
    known: { scope: null, route: null },
    source: { query: parseQuery(''), json: async () => ({}) },
    baseURL: 'http://localhost/api/s3',
    report,
    resolveScope: async () => {
      take('scope')
      return 'user:1'
    },
    findScope: async () => {
      take('scope')
      return null
    },
  }
  const steps: GuardedOperation<HttpFields, { route: string }, string, string | null> = {
    method: 'GET',
    path: '/thing',
    operation: 'thing.get',
    describe: () => ({ summary: '', answer: { status: 204, description: '' }, errors: [] }),
    parse: async () => {
      take('input')
      return 'input'
    },
    own: async () => {
      take('ownership')
      return { route: 'avatars' }
    },
    guard: (input, subject) => ({
      guards: [() => take('guard')],
      context: { bucket: 'photos', key: `${input} ${subject.route}` },
    }),
    act: async () => {
      take('act')
      return { status: 204 }
    },
  }
  return { steps, exchange, taken, report }
}

describe('a guarded operation', () => {
  it.each([null, ...STEPS])('runs its steps in order, and none after one that denies: %s', async (denies) => {
    const { steps, exchange, taken } = operation(denies)
    const run = guardedEndpoint(steps).run(exchange)
    if (denies === null) expect(await run).toEqual({ status: 204 })
    else await expect(run).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(taken).toEqual(denies === null ? STEPS : STEPS.slice(0, STEPS.indexOf(denies) + 1))
  })

  it.each([
    [true, null],
    [false, 'user:1'],
  ])('that reads has the same order, and a null scope only if it admits one: %s', async (admits, scope) => {
    const { steps, exchange, taken } = operation(null)
    const own = vi.fn<typeof steps.own>((input, call) => steps.own(input, call))
    expect(await readingEndpoint(admits, { ...steps, own }).run(exchange)).toEqual({ status: 204 })
    expect(taken).toEqual(STEPS)
    expect(own).toHaveBeenCalledWith('input', expect.objectContaining({ scope }))
  })

  it('refuses a long query as input, whether or not the operation reads it', async () => {
    const { steps, exchange, taken } = operation(null)
    const source = { ...exchange.source, query: parseQuery(`?${'a'.repeat(8193)}`) }
    await expect(guardedEndpoint(steps).run({ ...exchange, source })).rejects.toMatchObject({
      params: { field: 'query' },
    })
    expect(taken).toEqual(['scope'])
  })

  it('passes the request and the scope to its guards, and reports their errors with the operation', async () => {
    const error = new Error('the role table is gone')
    const { steps, exchange, report } = operation(null)
    const guard = vi.fn(() => Promise.reject(error))
    const plan = { guards: [guard], context: { bucket: 'photos', key: 'a.png', size: 5 } }
    const run = guardedEndpoint({ ...steps, guard: () => plan }).run(exchange)
    await expect(run).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(guard).toHaveBeenCalledWith({ request, scope: 'user:1', ...plan.context })
    expect(report).toHaveBeenCalledWith(error, { request, operation: 'thing.get' })
  })
})
