import type { Call, MethodName } from './calls.js'

type FieldName = keyof typeof BAD_VALUES

function texts(longest: number, unit: 'characters' | 'bytes'): unknown[] {
  // The longest good string has two UTF-16 units to a character, or two bytes to one: whoever counts wrongly is off.
  const tooLong = unit === 'characters' ? '\u{1d11e}'.repeat(longest + 1) : 'é'.repeat(longest / 2) + 'a'
  return ['', tooLong, 'a\0b', '\ud83d', 'a\udc00', 5, true, {}, ['a'], Symbol('text'), () => 'a']
}

const BAD_SIZES = [-1, 1.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1, '5', 5n, true, {}, []]
const BAD_IDS = [
  '',
  'id',
  5,
  {},
  '01890A5D-AC96-774B-BCCE-B302099A8057', // upper case
  '01890a5dac96774bbcceb302099a8057', // no hyphens
  '01890a5d-ac96-474b-bcce-b302099a8057', // version 4
  '01890a5d-ac96-774b-ccce-b302099a8057', // another variant
  '{01890a5d-ac96-774b-bcce-b302099a8057}',
  '01890a5d-ac96-774b-bcce-b302099a8057 ',
  '01890a5d-ac96-774b-bcce-b302099a8057\n',
  '01890a5d-ac96-774b-bcce-b302099a805g',
]
const BAD_DATES = [
  new Date(NaN),
  new Date('+010000-01-01T00:00:00.000Z'),
  Date.UTC(2030, 0, 1),
  '2030-01-01T00:00:00.000Z',
  {},
  true,
]
const BAD_SWITCHES = ['', 'true', 0, 1, {}]

/** What each field of an input must not be, by its name. */
export const BAD_VALUES = {
  scope: texts(255, 'characters'),
  bucket: texts(255, 'characters'),
  key: texts(1024, 'bytes'),
  storageKey: texts(1024, 'bytes'),
  route: texts(255, 'characters'),
  contentType: texts(255, 'characters'),
  eTag: texts(255, 'characters'),
  filename: texts(1024, 'characters'),
  uploadId: texts(1024, 'characters'),
  id: BAD_IDS,
  attemptId: BAD_IDS,
  size: BAD_SIZES,
  declaredSize: BAD_SIZES,
  fileSize: BAD_SIZES,
  limit: [0, -1, 1001, 1.5, NaN, Infinity, '5', 5n, true, {}],
  status: ['', 'Active', 'gone', 5, {}, ['active'], true],
  mode: ['', 'Soft', 'purge', 5, {}, true],
  overwrite: BAD_SWITCHES,
  expiresAt: BAD_DATES,
  before: BAD_DATES,
  after: [5, 'a', true, {}, { id: 'a', expiresAt: new Date(0), attemptId: 'a', since: new Date(0) }],
  metadata: [
    'a',
    5,
    true,
    ['a'],
    { name: 5 },
    { name: null },
    { name: {} },
    { name: 'a\0b' },
    { 'a\0b': 'text' },
    { name: '\ud83d' },
    { '\udc00': 'text' },
    Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`name ${index}`, ''])),
    { name: 'é'.repeat(8 * 1024 - 2) + 'a' }, // one byte over 16 KiB
    { ['é'.repeat(8 * 1024)]: 'a' },
  ],
  quota: [
    5,
    'a',
    true,
    { maxBytes: -1 },
    { maxBytes: 1.5 },
    { maxBytes: NaN },
    { maxBytes: '5' },
    { maxBytes: 5n },
    { maxFiles: -1 },
    { maxFiles: 1.5 },
    { maxFiles: Infinity },
    { maxFiles: {} },
  ],
} satisfies Record<string, readonly unknown[]>

interface Fields {
  /** `null` and `undefined` are bad too. */
  readonly required: readonly FieldName[]
  readonly optional: readonly FieldName[]
}

/** The fields of each call's input; the two calls that take no object have theirs in the order of their arguments. */
export const FIELDS: Record<MethodName, Fields> = {
  listByScope: { required: ['scope'], optional: ['status', 'route', 'limit'] },
  countByScope: { required: ['scope'], optional: ['status'] },
  getScopeUsage: { required: ['scope'], optional: [] },
  find: { required: ['bucket', 'key'], optional: [] },
  findActive: { required: ['bucket', 'key'], optional: [] },
  findPending: { required: ['bucket', 'key'], optional: ['id', 'uploadId'] },
  findPendingMultipart: { required: ['bucket', 'key', 'fileSize'], optional: [] },
  reserve: {
    required: ['scope', 'bucket', 'key', 'declaredSize', 'expiresAt'],
    optional: [
      'route',
      'filename',
      'contentType',
      'metadata',
      'storageKey',
      'uploadId',
      'overwrite',
      'quota',
      'id',
    ],
  },
  confirm: { required: ['bucket', 'key', 'size'], optional: ['id', 'scope', 'eTag', 'contentType', 'quota'] },
  setUploadId: { required: ['bucket', 'key', 'id', 'uploadId'], optional: [] },
  release: { required: ['bucket', 'key'], optional: ['id', 'scope', 'uploadId'] },
  remove: { required: ['bucket', 'key'], optional: ['scope', 'mode'] },
  listExpired: { required: [], optional: ['scope', 'before', 'limit', 'after'] },
  purgeExpired: { required: [], optional: ['scope', 'before', 'limit'] },
  listLeftovers: { required: [], optional: ['limit', 'after'] },
  forgetLeftover: { required: ['attemptId'], optional: [] },
  purgeDeleted: { required: ['before'], optional: ['limit'] },
}

export function badValuesOf(method: MethodName, field: FieldName): readonly unknown[] {
  const absent = FIELDS[method].required.includes(field) ? [null, undefined] : []
  return [...absent, ...BAD_VALUES[field]]
}

export function fieldsOf(method: MethodName): readonly FieldName[] {
  return [...FIELDS[method].required, ...FIELDS[method].optional]
}

/** The call with one field of its input replaced by a value that no type allows. */
export function spoil({ method, args }: Call, field: FieldName, value: unknown): Call {
  if (method === 'countByScope' || method === 'getScopeUsage') {
    const spoilt: unknown[] = [...args]
    spoilt[fieldsOf(method).indexOf(field)] = value
    return { method, args: spoilt } as unknown as Call
  }
  return { method, args: [{ ...args[0], [field]: value }] } as unknown as Call
}
