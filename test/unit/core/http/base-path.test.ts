import { describe, expect, it } from 'vitest'
import { checkBasePath } from '../../../../src/core/http/base-path.js'

describe('a base path', () => {
  it.each([
    ['/api/s3', '/api/s3'],
    ['/api/s3/', '/api/s3'],
    ['/api/s3///', '/api/s3'],
    ['/', ''],
    ['', ''],
    ['/a-b_c.d~e/f', '/a-b_c.d~e/f'],
    ['/caf%C3%A9', '/caf%C3%A9'],
  ])('%j becomes %j', (given, taken) => {
    expect(checkBasePath('db()', given)).toBe(taken)
  })

  it.each([
    'api/s3',
    'http://localhost/api',
    '//host/api',
    '//[',
    '/a b',
    '/café',
    '/a?b',
    '/a#b',
    '/a/../b',
    '/a/./b',
    '\\a',
    '/a\\b',
    '/a\n',
    ' /a',
    5,
    null,
    undefined,
    {},
  ])('%j throws a TypeError that names the caller and shows what is allowed', (given) => {
    expect(() => checkBasePath('db()', given)).toThrow(TypeError)
    expect(() => checkBasePath('db()', given)).toThrow(
      /^db\(\): basePath must be a path such as "\/api\/s3" \(got /,
    )
  })
})
