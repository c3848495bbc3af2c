import { describe, expect, it } from 'vitest'
import { quotaFlaw, quotaLimits } from '../../../../../src/core/store/validation/quota.js'

const NAMES = ['maxBytes', 'maxFiles'] as const

describe('a quota', () => {
  it.each([
    {},
    { maxBytes: 0 },
    { maxFiles: 0 },
    { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER },
    { maxBytes: null, maxFiles: undefined },
  ])('can be %o', (quota) => {
    expect(quotaFlaw('quota', quota)).toBeNull()
  })

  it.each([null, undefined, 5, '5', true, [], [5], () => ({})])('must be an object, not %o', (value) => {
    expect(quotaFlaw('quota', value)).toContain('quota must be an object { maxBytes?, maxFiles? } (got ')
  })

  describe.each(NAMES)('%s', (name) => {
    it.each([-1, 1.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1, '5', 5n, true, {}])(
      'must be a non-negative integer, not %o',
      (value) => {
        expect(quotaFlaw('quota', { [name]: value })).toMatch(
          new RegExp(
            `^quota\\.${name} must be an integer from 0 to ${Number.MAX_SAFE_INTEGER} \\(got .+\\)$`,
          ),
        )
      },
    )
  })

  it('has null for each absent limit', () => {
    expect(quotaLimits(null)).toEqual({ maxBytes: null, maxFiles: null })
    expect(quotaLimits({ maxBytes: undefined, maxFiles: null })).toEqual({ maxBytes: null, maxFiles: null })
    expect(quotaLimits({ maxBytes: 0 })).toEqual({ maxBytes: 0, maxFiles: null })
    expect(quotaLimits({ maxFiles: 3 })).toEqual({ maxBytes: null, maxFiles: 3 })
  })
})
