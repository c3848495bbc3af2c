import { describe, expect, it, vi } from 'vitest'
import { chainHooks, createObjectAccessGuard, StorageError, type Guard } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { ERROR_CODES } from '../../../../src/core/errors.js'
import { runGuards } from '../../../../src/core/guards/guard.js'

const CONTEXT = { request: new Request('http://localhost/'), bucket: 'photos', key: 'a.png' }

describe('the guards of the application', () => {
  async function denialOf(...guards: (Guard | null | undefined)[]) {
    const report = vi.fn()
    const error: unknown = await runGuards(guards, CONTEXT, report).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    return {
      error: error as StorageError | null,
      reported: report.mock.calls.map(([first]) => first as unknown),
    }
  }

  it('run in order, each awaited, with the same context, skipping absent ones', async () => {
    const seen: unknown[] = []
    const first: Guard = async (context) => {
      await Promise.resolve()
      seen.push('first', context)
    }
    const second: Guard = (context) => seen.push('second', context)
    expect(await denialOf(first, null, undefined, second)).toEqual({ error: null, reported: [] })
    expect(seen).toEqual(['first', CONTEXT, 'second', CONTEXT])
    expect(seen[1]).toBe(CONTEXT)
  })

  it('allow whatever they resolve to: only a throw denies', async () => {
    expect(
      await denialOf(
        () => false,
        async () => new StorageError('FORBIDDEN'),
      ),
    ).toEqual({ error: null, reported: [] })
  })

  it('stop at the first that denies', async () => {
    const later = vi.fn()
    const denying: Guard = () => {
      throw new StorageError('FORBIDDEN')
    }
    await denialOf(denying, later)
    expect(later).not.toHaveBeenCalled()
  })

  it('keep the status and the code of a StorageError, and report nothing', async () => {
    const denial = new StorageError('QUOTA_EXCEEDED', { message: 'Full.', params: { max: 1 } })
    expect(await denialOf(() => Promise.reject(denial))).toEqual({ error: denial, reported: [] })
  })

  it.each(ERROR_CODES)('report no %s of their own, with or without a cause', async (code) => {
    for (const cause of [undefined, new Error('not a member'), 'not a member']) {
      const denial = new StorageError(code, { cause })
      expect(await denialOf(() => Promise.reject(denial))).toEqual({ error: denial, reported: [] })
    }
  })

  it('report an unexpected error of authorize', async () => {
    const cause = new Error('the role table is gone')
    const client = memoryAdapter({ objects: [{ scope: 'user:1', bucket: 'photos', key: 'a.png' }] })
    const guard = createObjectAccessGuard({
      client,
      resolveScope: () => 'user:1',
      authorize: () => Promise.reject(cause),
    })
    expect(await denialOf(guard as Guard)).toEqual({
      error: expect.objectContaining({ code: 'FORBIDDEN' }) as unknown,
      reported: [cause],
    })
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

  it('stops at the first throw and rethrows it', async () => {
    const thrown = new Error('no')
    const later = vi.fn()
    await expect(chainHooks(() => Promise.reject(thrown), later)('event')).rejects.toBe(thrown)
    const throwing = () => {
      throw thrown
    }
    await expect(chainHooks(throwing, later)('event')).rejects.toBe(thrown)
    expect(later).not.toHaveBeenCalled()
  })

  it('does nothing without hooks', async () => {
    await expect(chainHooks()('event')).resolves.toBeUndefined()
  })
})
