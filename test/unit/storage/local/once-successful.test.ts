import { expect, it, vi } from 'vitest'
import { onceSuccessful } from '../../../../src/storage/local/storage.js'

it('creates a value once, on first use', async () => {
  const make = vi.fn(async () => ({}))
  const get = onceSuccessful(make)
  expect(make).not.toHaveBeenCalled()
  const [one, other] = await Promise.all([get(), get()])
  expect(one).toBe(other)
  expect(await get()).toBe(one)
  expect(make).toHaveBeenCalledOnce()
})

it('retries after a failure', async () => {
  const make = vi.fn(async () => 'value').mockRejectedValueOnce(new Error('not yet'))
  const get = onceSuccessful(make)
  expect(await Promise.allSettled([get(), get()])).toMatchObject([
    { reason: { message: 'not yet' } },
    { reason: { message: 'not yet' } },
  ])
  expect(await get()).toBe('value')
  expect(make).toHaveBeenCalledTimes(2)
})
