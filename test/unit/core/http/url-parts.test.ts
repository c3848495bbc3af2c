import { describe, expect, it } from 'vitest'
import { urlParts } from '../../../../src/core/http/url-parts.js'

describe('urlParts', () => {
  it.each([
    'http://localhost/',
    'https://files.example:8443/api/s3/db/objects?limit=1&cursor=a%2Fb',
    'http://[::1]:3000/api//s3/%2e%2e/x',
    'http://localhost/a?',
    'http://localhost/a?b=/c?d#e?f',
    'http://localhost/a#b?c',
    'http://user:secret@localhost/a?b',
    'http://localhost/@a?b@c',
    'app://localhost/a?b',
  ])('returns the same as a parser for %s', (given) => {
    const { origin, pathname, search } = new URL(given)
    const parts = urlParts(new URL(given).href)
    expect({ origin: parts.origin, pathname: parts.pathname }).toEqual({ origin, pathname })
    expect(parts.search.replace(/^\?$/, '')).toBe(search)
  })
})
