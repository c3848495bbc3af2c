import { describe, expect, it, vi } from 'vitest'
import { chainHooks, StorageError, type Guard } from '@svc/db'
import { runGuards } from '../../../../src/core/guards/guard.js'

const CONTEXT = { request: new Request('http://localhost/'), bucket: 'photos', key: 'a.png' }

describe('the guards of the application', () => {
  async function denialOf(...guards: (Guard | null | undefined)[]) {
    const report = vi.fn()
    const error: unknown = await runGuards(guards, CONTEXT, report).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    return { error: error as StorageError | null, told: report.mock.calls.map(([first]) => first as unknown) }
  }

  it('run in their order, each awaited, with the same context, and what is left out is skipped', async () => {
    const seen: unknown[] = []
    const first: Guard = async (context) => {
      await Promise.resolve()
      seen.push('first', context)
    }
    const second: Guard = (context) => seen.push('second', context)
    expect(await denialOf(first, null, undefined, second)).toEqual({ error: null, told: [] })
    expect(seen).toEqual(['first', CONTEXT, 'second', CONTEXT])
    expect(seen[1]).toBe(CONTEXT)
  })

  it('let pass whatever they resolve to: only a throw denies', async () => {
    expect(
      await denialOf(
        () => false,
        async () => new StorageError('FORBIDDEN'),
      ),
    ).toEqual({ error: null, told: [] })
  })

  it('stop at the first that denies', async () => {
    const later = vi.fn()
    const denying: Guard = () => {
      throw new StorageError('FORBIDDEN')
    }
    await denialOf(denying, later)
    expect(later).not.toHaveBeenCalled()
  })

  it('keep the status and the code of a StorageError, and nobody is told', async () => {
    const denial = new StorageError('QUOTA_EXCEEDED', { message: 'Full.', params: { max: 1 } })
    expect(await denialOf(() => Promise.reject(denial))).toEqual({ error: denial, told: [] })
    const forbidden = new StorageError('FORBIDDEN')
    expect(await denialOf(() => Promise.reject(forbidden))).toEqual({ error: forbidden, told: [] })
  })

  it.each([new TypeError('x is not a function'), 'no', 0, null, undefined] as Error[])(
    'become FORBIDDEN without the message where they throw anything else, and it is told: %s',
    async (thrown) => {
      const { error, told } = await denialOf(() => Promise.reject(thrown))
      expect(error).toMatchObject({ code: 'FORBIDDEN', message: new StorageError('FORBIDDEN').message })
      expect(told).toEqual([thrown ?? expect.anything()])
    },
  )

  it('deny where one is no function', async () => {
    const { error, told } = await denialOf('guard' as unknown as Guard)
    expect(error).toMatchObject({ code: 'FORBIDDEN' })
    expect(told[0]).toBeInstanceOf(TypeError)
  })
})

describe('chainHooks', () => {
  it('is one hook that runs them in order, each awaited, and skips what is left out', async () => {
    const seen: string[] = []
    const hook = chainHooks<string>(
      undefined,
      async (event) => {
        await Promise.resolve()
        seen.push(`first ${event}`)
      },
      null,
      (event) => seen.push(`second ${event}`),
    )
    expect(await hook('event')).toBeUndefined()
    expect(seen).toEqual(['first event', 'second event'])
  })

  it('stops at the first throw, which it passes on', async () => {
    const thrown = new Error('no')
    const later = vi.fn()
    await expect(chainHooks(() => Promise.reject(thrown), later)('event')).rejects.toBe(thrown)
    const throwing = () => {
      throw thrown
    }
    await expect(chainHooks(throwing, later)('event')).rejects.toBe(thrown)
    expect(later).not.toHaveBeenCalled()
  })

  it('of nothing does nothing', async () => {
    await expect(chainHooks()('event')).resolves.toBeUndefined()
  })
})
