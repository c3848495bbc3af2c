import { builtinModules } from 'node:module'

/**
 * Which folder may import which: the layers of the library. A folder may always import its own files. A file that several
 * folders share has a line like a folder.
 *
 * `values` and `types` name folders, files, packages, or `node:` for Node's built-in modules. What is listed under
 * `types` may be imported as a type only. `loads` names packages that are imported at run time and may be missing.
 */
const layers = [
  { folder: 'src/core' },
  { folder: 'src/adapters/shared', values: ['src/core'] },
  { folder: 'src/adapters/memory', values: ['src/core'] },
  {
    folder: 'src/adapters/postgres',
    values: ['src/core', 'src/adapters/shared'],
    types: ['pg', '@electric-sql/pglite'],
  },
  { folder: 'src/adapters/mongo', values: ['src/core', 'src/adapters/shared'], types: ['mongodb'] },
  { folder: 'src/adapters/sqlite', values: ['src/core', 'src/adapters/shared'] },
  { folder: 'src/adapters/redis', values: ['src/core'], types: ['ioredis'] },
  {
    folder: 'src/storage/headers.ts',
    values: ['src/core/http/download-headers.ts', 'src/core/http/media-type.ts'],
    types: ['src/core'],
  },
  {
    folder: 'src/storage/local',
    values: [
      'src/core/bytes.ts',
      'src/core/errors.ts',
      'src/core/http/download-headers.ts',
      'src/core/http/request-body.ts',
      'src/core/http/response.ts',
      'src/core/names.ts',
      'src/core/object-storage.ts',
      'src/core/printable.ts',
      'src/core/realms.ts',
      'src/core/store/validation/checks.ts',
      'src/storage/headers.ts',
    ],
    types: ['src/core'],
  },
  {
    folder: 'src/storage/memory',
    values: [
      'src/core/bytes.ts',
      'src/core/known-names.ts',
      'src/core/names.ts',
      'src/core/option-checks.ts',
      'src/storage/local',
    ],
    types: ['src/core'],
  },
  {
    folder: 'src/storage/disk',
    values: [
      'src/core/known-names.ts',
      'src/core/option-checks.ts',
      'src/core/store/validation/checks.ts',
      'src/storage/local',
      'node:',
    ],
    types: ['src/core'],
  },
  {
    folder: 'src/storage/s3',
    values: [
      'src/core/bytes.ts',
      'src/core/dot-segments.ts',
      'src/core/errors.ts',
      'src/core/http/download-headers.ts',
      'src/core/known-names.ts',
      'src/core/object-storage.ts',
      'src/core/on-abort.ts',
      'src/core/option-checks.ts',
      'src/core/printable.ts',
      'src/core/realms.ts',
      'src/core/store/validation/checks.ts',
      'src/storage/headers.ts',
      '@aws-sdk',
    ],
    types: ['src/core'],
  },
  { folder: 'src/server', values: ['src/core'] },
  { folder: 'src/bindings/node', values: ['node:'], types: ['src/core'] },
  { folder: 'src/bindings/express', values: ['src/bindings/node'], types: ['src/core', 'express', 'node:'] },
  { folder: 'src/bindings/koa', values: ['src/bindings/node'], types: ['src/core', 'koa', 'node:'] },
  { folder: 'src/bindings/fastify', values: ['src/bindings/node'], types: ['src/core', 'fastify', 'node:'] },
  { folder: 'src/bindings/hono', values: ['src/bindings/node'], types: ['src/core', 'hono'] },
  { folder: 'src/client', types: ['src/core'] },
  {
    folder: 'src/cli',
    values: [
      'src/index.ts',
      'src/adapter.ts',
      'src/adapters',
      'src/core/http/media-type.ts',
      'src/core/object-storage.ts',
      'src/core/printable.ts',
      'src/core/store/attempt-id.ts',
      'src/core/store/validation/checks.ts',
      'src/server/jobs',
      'src/server/dependencies.ts',
      'src/server/storage.ts',
      'src/server/url-terms.ts',
      'src/server/verify.ts',
      'commander',
      'node:',
    ],
    types: ['src/storage/s3'],
    loads: ['pg', 'mongodb', 'better-sqlite3', '@aws-sdk'],
  },
  {
    folder: 'test/conformance',
    // The suite is a witness of its own, but its options are checked like all others.
    values: [
      'fast-check',
      'test/broken-stores',
      'node:',
      'src/core/option-checks.ts',
      'src/core/known-names.ts',
    ],
    types: ['src/core'],
  },
  {
    folder: 'test/broken-stores',
    values: ['src/core', 'src/adapter.ts', 'src/adapters/memory', 'test/conformance'],
  },
]

const escape = (text) => text.replaceAll('.', '\\.')

/** The paths that `target` stands for, as a regular expression over resolved paths. */
function pathOf(target) {
  if (target === 'node:') return `^(node:)?(${builtinModules.join('|')})$`
  if (/^(src|test)\//.test(target)) return `^${escape(target)}(/|$)`
  return `(^|/)node_modules/(@types/)?${escape(target)}/`
}

const rulesOf = ({ folder, values = [], types = [], loads = [] }) => {
  const from = { path: pathOf(folder) }
  const allowed = [folder, ...values, ...types, ...loads]
  const rules = [
    {
      name: `${folder} may import only ${allowed.join(', ')}`,
      severity: 'error',
      from,
      to: { pathNot: allowed.map(pathOf) },
    },
  ]
  if (types.length > 0) {
    rules.push({
      name: `${folder} may import ${types.join(', ')} only as types`,
      severity: 'error',
      from,
      to: { path: types.map(pathOf), pathNot: values.map(pathOf), dependencyTypesNot: ['type-only'] },
    })
  }
  if (loads.length > 0) {
    rules.push({
      name: `${folder} may load ${loads.join(', ')} only at run time, or import types of them`,
      severity: 'error',
      from,
      to: { path: loads.map(pathOf), dependencyTypesNot: ['type-only', 'dynamic-import'] },
    })
  }
  return rules
}

export default {
  forbidden: [
    ...layers.flatMap(rulesOf),
    {
      name: 'no cycles, not even of types',
      severity: 'error',
      from: { path: '^(src|test/conformance|test/broken-stores)/' },
      to: { circular: true },
    },
    {
      name: 'every folder of src has a line in the table above',
      severity: 'error',
      from: {
        path: '^src/.+/',
        pathNot: layers.map(({ folder }) => pathOf(folder)),
      },
      to: {},
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
