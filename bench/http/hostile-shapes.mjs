import { scope } from './listed-scope.mjs'

/** Node refuses longer heads. Leaves room for the other headers. */
const LONG = 15_000
/** Queries up to this length are parsed. */
const QUERY = 7_900

/** The headers of a browser. */
const BROWSER = [
  ['Host', 'files.example'],
  ['Connection', 'keep-alive'],
  ['sec-ch-ua', '"Chromium";v="140", "Not=A?Brand";v="24"'],
  ['sec-ch-ua-mobile', '?0'],
  ['sec-ch-ua-platform', '"Linux"'],
  [
    'User-Agent',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  ],
  ['Accept', '*/*'],
  ['Sec-Fetch-Site', 'same-origin'],
  ['Sec-Fetch-Mode', 'cors'],
  ['Sec-Fetch-Dest', 'empty'],
  ['Referer', 'https://files.example/library'],
  ['Accept-Encoding', 'gzip, deflate, br, zstd'],
  ['Accept-Language', 'en-GB,en;q=0.9'],
]

/** Highest ratio to the usual request. Before sign-in, it must not pay to send many. */
const BARS = {
  signedIn: { most: 3 },
  signedOut: { most: 2 },
  // Creating the headers of a `Request` takes a tenth of a microsecond for each.
  manyHeaders: { most: 6 },
}
const SIGNED_IN = ['x-user', scope]

const LIST = '/api/s3/db/objects'
const USUAL = `${LIST}?limit=20`

const fill = (unit, bytes) => unit.repeat(Math.floor(bytes / unit.length))
/** Makes a repeated text readable in a table. */
const label = (unit) => JSON.stringify(unit)

function get(
  name,
  target,
  { headers = [], isSignedIn = true, bar = isSignedIn ? BARS.signedIn : BARS.signedOut } = {},
) {
  return {
    name: isSignedIn ? name : `${name}, signed out`,
    isSignedIn,
    method: 'GET',
    target,
    headers: [...BROWSER.filter(([header]) => !names(headers).has(header.toLowerCase())), ...headers].concat(
      isSignedIn ? [SIGNED_IN] : [],
    ),
    body: null,
    bar,
  }
}

const names = (headers) => new Set(headers.map(([name]) => name.toLowerCase()))

/** Both with and without a signed-in caller. */
const both = (name, target, options = {}) =>
  [true, false].map((isSignedIn) => get(name, target, { ...options, isSignedIn }))

/** The request that all others without a body are compared with. */
export const usual = { ...get('usual', USUAL), id: 'usual' }

const QUERY_UNITS = ['a', '&', '%&', '+&', '=&', 'a=b&', '%ff&', '%61&', '%6Bey&', '%C3%A9=%zz&']
const VALUE_UNITS = ['a', '+', '%', '%20', '%ff', '%C3%A9', '%ED%A0%80']
const PATH_UNITS = ['a', '/', '%2F', '../', '%2e%2e/', '\\', '/api/s3', '\xe9']
const STORAGE_UNITS = ['a', '.', '%', '/']
const AUTHORITY_UNITS = ['a', '1.', '[']
const HEADER_UNITS = [' ', '\t', ', ', ' ,', 'a', 'a.', ':', ';', '"']
const HEADERS = [
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-for',
  'host',
  'content-type',
  'cookie',
  'range',
]
const FEWER_UNITS = new Set([' ', ', ', 'a'])

function* gets() {
  for (const unit of QUERY_UNITS) {
    yield* both(`query of ${label(unit)}`, `${USUAL}&${fill(unit, LONG)}`)
    yield get(`query of ${label(unit)}, 8 kB`, `${USUAL}&${fill(unit, QUERY)}`)
  }
  for (const parameter of ['cursor', 'route', 'status', 'limit']) {
    for (const unit of parameter === 'cursor' || parameter === 'route'
      ? VALUE_UNITS
      : ['a', '+', '%', '%31']) {
      yield get(`${parameter} of ${label(unit)}`, `${LIST}?${parameter}=${fill(unit, QUERY)}`)
    }
    yield get(`many ${parameter}`, `${LIST}?${fill(`${parameter}=1&`, QUERY)}`)
    yield get(`${parameter} and 15 kB`, `${LIST}?${parameter}=${fill('+', LONG)}`)
  }
  yield get(
    'different names',
    `${USUAL}&${Array.from({ length: 1500 }, (_, i) => `p${i}`)
      .join('&')
      .slice(0, QUERY)}`,
  )
  for (const path of ['/db/object', '/download']) {
    for (const unit of VALUE_UNITS)
      yield get(`key of ${label(unit)} to ${path}`, `/api/s3${path}?key=${fill(unit, QUERY)}`)
  }
  yield get('bucket of "+"', `/api/s3/db/object?key=a&bucket=${fill('+', QUERY)}`)
  for (const unit of PATH_UNITS) yield* both(`path of ${label(unit)}`, `/api/s3/${fill(unit, LONG)}`)
  yield* both('path before the base', `${fill('/api', LONG)}/s3/db/objects`)
  for (const unit of STORAGE_UNITS)
    yield get(`signed URL of ${label(unit)}`, `/api/s3/_storage/${fill(unit, LONG)}`, { isSignedIn: false })
  yield get('signed URL with a long signature', `/api/s3/_storage/a.${fill('a', LONG)}`, {
    isSignedIn: false,
  })
  for (const unit of AUTHORITY_UNITS)
    yield* both(`authority of ${label(unit)}`, `http://${fill(unit, LONG)}${LIST}`)
  yield* both('target with a long scheme', `${fill('a+.-', LONG)}://x${LIST}`)

  for (const name of HEADERS) {
    for (const unit of name.startsWith('x-forwarded-') || name === 'host'
      ? HEADER_UNITS
      : HEADER_UNITS.filter((one) => FEWER_UNITS.has(one))) {
      // The parser removes blanks at both ends.
      const headers = [[name, `a${fill(unit, LONG)}a`]]
      const target = USUAL
      yield get(`${name} of ${label(unit)}`, target, { headers, isSignedIn: false })
      if (FEWER_UNITS.has(unit)) yield get(`${name} of ${label(unit)}`, target, { headers })
    }
  }
  const many = (header) => Array.from({ length: 1000 }, (_, i) => header(i))
  yield* both('different headers', USUAL, {
    headers: many((i) => [`x-${i}`, '1']),
    bar: BARS.manyHeaders,
  })
  yield* both('equal headers', USUAL, { headers: many(() => ['x-a', '1']) })
  yield* both('many cookies', USUAL, { headers: [['cookie', fill('a=b; ', LONG)]] })
}

const BODY = 15_000
const ID = '0190a000-0000-7000-8000-000000000000'
const confirmBody = (extra) => `{"key":"a","id":"${ID}","pad":${extra}}`
const uploadBody = ({ type = '"a/b"', metadata = '{}', filename = '"a"' }) =>
  `{"filename":${filename},"contentType":${type},"size":-1,"metadata":${metadata}}`
const entries = (count, value) => `{${Array.from({ length: count }, (_, i) => `"k${i}":${value}`).join()}}`
const nested = (open, close, bytes) =>
  open.repeat(bytes / (open.length + close.length)) + close.repeat(bytes / (open.length + close.length))

function* bodies() {
  const texts = [
    ['nested arrays', confirmBody(nested('[', ']', 10_000))],
    ['nested objects', confirmBody(`${nested('{"a":', '}', 10_000).replace('}', '1}')}`)],
    ['unclosed arrays', '['.repeat(BODY)],
    ['nested arrays as the body', nested('[', ']', BODY)],
    ['nested metadata', uploadBody({ metadata: nested('[', ']', 10_000) })],
    ['nested key', `{"key":${nested('[', ']', 10_000)},"id":"${ID}"}`],
    ['blanks', confirmBody(`1${' '.repeat(BODY)}`)],
    ['one long string', confirmBody(`"${'a'.repeat(BODY)}"`)],
    ['unfinished string of quotes', `{"key":"${fill('\\"', BODY)}`],
    ['names with escapes', confirmBody(entries(1200, '1').replaceAll('"k', '"\\n'))],
    ['private-use characters', confirmBody(`"\\n${fill('\ue000', BODY / 3)}"`)],
    ['escapes', confirmBody(`"${fill('\\u0000', BODY)}"`)],
    ['lone surrogates', `{"id":"${ID}","key":"${fill('\\ud800', BODY)}"}`],
    ['long key', `{"id":"${ID}","key":"${'a'.repeat(BODY)}"}`],
    ['long key in multi-byte characters', `{"id":"${ID}","key":"${fill('é', BODY / 2)}"}`],
    ['many fields', confirmBody(entries(1200, '1'))],
    ['equal fields', confirmBody(`{${fill('"a":1,', BODY)}"b":1}`)],
    ['long number', confirmBody('1'.repeat(BODY))],
    ['array of numbers', confirmBody(`[${fill('1,', BODY)}1]`)],
    ['array of null', confirmBody(`[${fill('null,', BODY)}1]`)],
    ['array of objects', confirmBody(`[${fill('{},', BODY)}1]`)],
    ['__proto__', confirmBody(`{${fill('"__proto__":{},', BODY)}"a":1}`)],
    ['no JSON', 'x'.repeat(BODY)],
  ]
  const uploads = [
    ['metadata with many entries', uploadBody({ metadata: entries(1200, '""') })],
    ['metadata of 15 kB', uploadBody({ metadata: entries(60, `"${'é'.repeat(100)}"`) })],
    ['media type of blanks', uploadBody({ type: `"a/b${' '.repeat(BODY)}"` })],
    ['media type of 255 semicolons', uploadBody({ type: `"a/b${'; '.repeat(125)}x"` })],
    ['media type of 255 quotes', uploadBody({ type: `"a/b;a=\\"${'\\\\'.repeat(120)}"` })],
    ['filename of 15 kB', uploadBody({ filename: `"${fill('.', BODY)}"` })],
    ['filename of surrogates', uploadBody({ filename: `"${fill('\\ud83d\\ude00', BODY)}"` })],
  ]
  for (const prefix of ['', '/parsed']) {
    const where = prefix === '' ? '' : ', parsed before'
    for (const [name, text] of texts) yield post(`${name}${where}`, `${prefix}/api/s3/upload/confirm`, text)
    for (const [name, text] of uploads) yield post(`${name}${where}`, `${prefix}/api/s3/upload`, text)
    const bytes = Buffer.concat([Buffer.from('{"key":"'), Buffer.alloc(BODY, 0xff), Buffer.from('"}')])
    yield post(`invalid UTF-8${where}`, `${prefix}/api/s3/upload/confirm`, bytes)
  }
  yield {
    ...post('nested arrays, signed out', '/parsed/api/s3/upload/confirm', texts[0][1]),
    isSignedIn: false,
  }
}

function post(name, target, text, type = 'application/json') {
  const body = Buffer.from(text)
  const headers = [...BROWSER, ['Content-Type', type], ['Content-Length', String(body.length)], SIGNED_IN]
  return {
    name: `body: ${name}`,
    isSignedIn: true,
    method: 'POST',
    target,
    headers,
    body,
    bar: BARS.signedIn,
  }
}

/** Returns a harmless body of the same size for the same path. */
export function harmless({ target, body }) {
  const isUpload = target.endsWith('/upload')
  const start = isUpload ? uploadBody({}).slice(0, -1) + ',"pad":"' : `{"key":"a","id":"${ID}","pad":"`
  const text = `${start}${'a'.repeat(Math.max(0, body.length - start.length - 2))}"}`
  return { ...post('harmless', target, text), id: `harmless ${target} ${body.length}` }
}

export const shapes = [...gets(), ...bodies()].map((shape, id) => ({ id: String(id), ...shape }))

export function bytesOf({ method, target, headers, body, isSignedIn }) {
  const sent = isSignedIn ? headers : headers.filter(([name]) => name !== SIGNED_IN[0])
  const head = [`${method} ${target} HTTP/1.1`, ...sent.map(([name, value]) => `${name}: ${value}`), '', '']
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), body ?? Buffer.alloc(0)])
}
