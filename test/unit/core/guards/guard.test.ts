import { describe, expect, it, vi } from 'vitest'
import { chainHooks, createObjectAccessGuard, StorageError, type Guard } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { ERROR_CODES } from '../../../../src/core/errors.js'
import { runGuards } from '../../../../src/core/guards.js'

const CONTEXT = { request: new Request('http://localhost/'), bucket: 'photos', key: 'a.png' }
const ALLOWED = { error: null, reported: [] }

/** Runs the guards. Returns the error with which they deny, and what was reported. */
async function denialOf(...guards: (Guard | null | undefined)[]) {
  const report = vi.fn()
  const error: unknown = await runGuards(guards, CONTEXT, report).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  return { error, reported: report.mock.calls.map(([first]) => first as unknown) }
}

describe('the guards of the application', () => {
  it('allow whatever they resolve to: only a throw denies', async () => {
    const returned = new StorageError('FORBIDDEN')
    expect(
      await denialOf(
        () => false,
        async () => returned,
      ),
    ).toEqual(ALLOWED)
  })

  it('stop at the first that denies, whose StorageError is passed on and not reported', async () => {
    const later = vi.fn()
    for (const code of ERROR_CODES) {
      for (const cause of [undefined, new Error('not a member')]) {
        const denial = new StorageError(code, { message: 'No.', params: { max: 1 }, cause })
        expect(await denialOf(() => Promise.reject(denial), later)).toEqual({ error: denial, reported: [] })
      }
    }
    expect(later).not.toHaveBeenCalled()
  })

  it('report an unexpected error of authorize', async () => {
    const cause = new Error('the role table is gone')
    const client = memoryAdapter({ objects: [{ scope: 'user:1', bucket: 'photos', key: 'a.png' }] })
    const authorize = () => Promise.reject(cause)
    const guard = createObjectAccessGuard({ client, resolveScope: () => 'user:1', authorize })
    expect(await denialOf(guard as Guard)).toMatchObject({ error: { code: 'FORBIDDEN' }, reported: [cause] })
  })

  it.each([new TypeError('x is not a function'), 'no', 0, null, undefined] as Error[])(
    'reject with FORBIDDEN without the message if they throw anything else, and report it: %s',
    async (thrown) => {
      const { error, reported } = await denialOf(() => Promise.reject(thrown))
      expect(error).toMatchObject({ code: 'FORBIDDEN', message: new StorageError('FORBIDDEN').message })
      expect(reported).toEqual([thrown ?? expect.anything()])
    },
  )

  it('deny if one is not a function', async () => {
    const { error, reported } = await denialOf('guard' as unknown as Guard)
    expect(error).toMatchObject({ code: 'FORBIDDEN' })
    expect(reported[0]).toBeInstanceOf(TypeError)
  })
})

describe('chainHooks', () => {
  it('returns a hook that runs all hooks in order, each awaited, skipping absent ones', async () => {
    const seen: string[] = []
    const first = async (event: string) => {
      await Promise.resolve()
      seen.push(`first ${event}`)
    }
    const hook = chainHooks<string>(undefined, first, null, (event) => seen.push(`second ${event}`))
    expect(await hook('event')).toBeUndefined()
    expect(seen).toEqual(['first event', 'second event'])
    await expect(chainHooks()('event')).resolves.toBeUndefined()
  })

  it('refuses what is no function at once', () => {
    expect(() => chainHooks(undefined, ['hook'] as never)).toThrow(
      new TypeError('chainHooks: a hook must be a function (got an array).'),
    )
  })

  it('stops at the first throw and rethrows it', async () => {
    const thrown = new Error('no')
    const later = vi.fn()
    const throwing = () => {
      throw thrown
    }
    for (const failing of [() => Promise.reject(thrown), throwing])
      await expect(chainHooks(failing, later)('event')).rejects.toBe(thrown)
    expect(later).not.toHaveBeenCalled()
  })
})
