import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkAttemptId,
  checkBoolean,
  checkDate,
  checkInteger,
  checkObject,
  checkOneOf,
  checkSize,
  optional,
} from '../../../../../src/core/store/validation/scalars.js'
import { shown } from '../../../../../src/core/store/validation/invalid.js'
import { refusalOf } from './refusal.js'

describe('an integer', () => {
  it('accepts both bounds, and nothing beyond', () => {
    expect(checkInteger('limit', 1, 1, 1000)).toBe(1)
    expect(checkInteger('limit', 1000, 1, 1000)).toBe(1000)
    for (const value of [0, 1001, -1]) {
      const message = refusalOf('limit', () => checkInteger('limit', value, 1, 1000))
      expect(message).toBe(`limit must be an integer from 1 to 1000 (got ${value}).`)
    }
  })

  it.each([1.5, NaN, Infinity, -Infinity, '5', 5n, true, null, undefined, [5], {}, new Number(5)])(
    'refuses %o',
    (value) => {
      const message = refusalOf('limit', () => checkInteger('limit', value, 1, 1000))
      expect(message).toContain(`must be an integer from 1 to 1000 (got ${shown(value)})`)
    },
  )
})

describe('a size', () => {
  it('accepts integers from 0 to the largest safe integer', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (size) => {
        expect(checkSize('size', size)).toBe(size)
      }),
    )
    expect(checkSize('size', Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER)
    for (const value of [-1, Number.MAX_SAFE_INTEGER + 1, 0.1]) {
      const message = refusalOf('size', () => checkSize('size', value))
      expect(message).toBe(`size must be an integer from 0 to ${Number.MAX_SAFE_INTEGER} (got ${value}).`)
    }
  })

  it('turns -0 into 0', () => {
    expect(Object.is(checkSize('size', -0), 0)).toBe(true)
  })
})

describe('a date', () => {
  const LAST = '9999-12-31T23:59:59.999Z'

  it('ends with the year 9999', () => {
    expect(checkDate('before', new Date(LAST))).toEqual(new Date(LAST))
    const oneMore = new Date(new Date(LAST).getTime() + 1)
    expect(refusalOf('before', () => checkDate('before', oneMore))).toContain('after the year 9999')
  })

  it('becomes the start of the year 1 if it is earlier', () => {
    const first = new Date('0001-01-01T00:00:00.000Z')
    expect(checkDate('before', first)).toEqual(first)
    expect(checkDate('before', new Date(first.getTime() + 1))).toEqual(new Date(first.getTime() + 1))
    expect(checkDate('before', new Date(first.getTime() - 1))).toEqual(first)
    expect(checkDate('before', new Date(-8.64e15))).toEqual(first)
  })

  it('is copied to the millisecond', () => {
    const given = new Date('2026-03-01T12:00:00.001Z')
    const copy = checkDate('before', given)
    given.setTime(0)
    expect(copy).toEqual(new Date('2026-03-01T12:00:00.001Z'))
  })

  it('refuses an invalid Date', () => {
    expect(refusalOf('before', () => checkDate('before', new Date(NaN)))).toContain(
      'must be a valid Date (got Invalid Date)',
    )
  })

  it.each([0, 1.7e12, '2026-03-01T12:00:00.000Z', null, undefined, true, {}, { getTime: () => 0 }])(
    'refuses %o',
    (value) => {
      expect(refusalOf('before', () => checkDate('before', value))).toContain(
        `must be a Date (got ${shown(value)})`,
      )
    },
  )
})

describe('a boolean', () => {
  it('accepts only true and false', () => {
    expect(checkBoolean('overwrite', true)).toBe(true)
    expect(checkBoolean('overwrite', false)).toBe(false)
    for (const value of [0, 1, '', 'true', null, undefined, {}]) {
      const message = refusalOf('overwrite', () => checkBoolean('overwrite', value))
      expect(message).toBe(`overwrite must be true or false (got ${shown(value)}).`)
    }
  })
})

describe('an enum', () => {
  it('accepts only the given values', () => {
    expect(checkOneOf('mode', 'hard', ['soft', 'hard'])).toBe('hard')
    for (const value of ['', 'Hard', ' hard', 'constructor', 0, null, undefined, ['hard'], {}]) {
      const message = refusalOf('mode', () => checkOneOf('mode', value, ['soft', 'hard']))
      expect(message).toBe(`mode must be one of "soft", "hard" (got ${shown(value)}).`)
    }
  })
})

describe('an attempt id', () => {
  const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

  it('accepts lower-case UUIDv7s with hyphens', () => {
    fc.assert(
      fc.property(fc.uuid({ version: 7 }), (id) => {
        expect(checkAttemptId('id', id)).toBe(id)
      }),
    )
  })

  it.each([
    ['upper case', ID.toUpperCase()],
    ['without hyphens', ID.replaceAll('-', '')],
    ['version 4', ID.replace('-7', '-4')],
    ['another variant', ID.replace('-b', '-c')],
    ['in braces', `{${ID}}`],
    ['with a line end', `${ID}\n`],
    ['with a space in front', ` ${ID}`],
    ['one digit short', ID.slice(1)],
    ['one digit more', `${ID}0`],
    ['with a letter that is no digit', ID.replace('57', '5g')],
    ['empty', ''],
    ['a number', 7],
    ['nothing', undefined],
  ])('refuses one that is %s', (_what, value) => {
    const message = refusalOf('id', () => checkAttemptId('id', value))
    expect(message).toContain(`a lower-case UUIDv7 with hyphens`)
    expect(message).toContain(`(got ${shown(value)})`)
  })
})

describe('an object', () => {
  it('accepts only objects with fields', () => {
    const given = { a: 1 }
    expect(checkObject('input', given)).toBe(given)
    for (const value of [null, undefined, 'a', 5, () => given]) {
      const message = refusalOf('input', () => checkObject('input', value))
      expect(message).toBe(`input must be an object (got ${shown(value)}).`)
    }
  })
})

describe('an optional value', () => {
  it('is null if null or absent, else the result of the check', () => {
    const double = (value: unknown) => Number(value) * 2
    expect(optional(undefined, double)).toBeNull()
    expect(optional(null, double)).toBeNull()
    expect(optional(0, double)).toBe(0)
    expect(optional('', () => 'checked')).toBe('checked')
  })
})

describe('a value in a message', () => {
  it('is shortened', () => {
    expect(shown('a'.repeat(40))).toBe(`"${'a'.repeat(40)}"`)
    expect(shown('a'.repeat(41))).toBe(`"${'a'.repeat(40)}…"`)
  })

  it('is made well-formed', () => {
    expect(shown('a\ud83d\n')).toBe('"a\\ud83d\\n"')
  })

  it('is only its type if it is not primitive, so no secret is quoted', () => {
    expect(shown({ password: 'secret' })).toBe('an object')
    expect(shown(['secret'])).toBe('an array')
    expect(shown(() => 'secret')).toBe('a function')
  })
})
