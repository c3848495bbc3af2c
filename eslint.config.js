import { posix } from 'node:path'
import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import prettier from 'eslint-config-prettier'
import tseslint from 'typescript-eslint'

/**
 * Who may import whom. `values` and `types` name folders or files of this repository or, where they have no
 * `src/` in front, packages; what is in `types` may only be imported as a type. A room may always import its own files.
 * `web` rooms run outside Node too. `loads` names packages that a room may import at run time, where they may be missing.
 */
const rooms = [
  { folder: 'src/core', web: true },
  { folder: 'src/adapters/memory', values: ['src/core/'], web: true },
  { folder: 'src/adapters/postgres', values: ['src/core/'], types: ['pg'] },
  { folder: 'src/adapters/mongo', values: ['src/core/'], types: ['mongodb'] },
  { folder: 'src/adapters/redis', values: ['src/core/'], types: ['ioredis'] },
  { folder: 'src/storage/headers', web: true },
  {
    folder: 'src/storage/signed-urls',
    values: ['src/server/object-storage.js', 'src/storage/headers/'],
    types: ['src/core/'],
    web: true,
  },
  {
    folder: 'src/storage/memory',
    values: ['src/server/object-storage.js', 'src/storage/signed-urls/'],
    types: ['src/core/'],
    web: true,
  },
  {
    folder: 'src/storage/disk',
    values: ['src/server/object-storage.js', 'src/storage/signed-urls/', 'node:*'],
    types: ['src/core/'],
  },
  {
    folder: 'src/storage/s3',
    values: ['src/storage/headers/', '@aws-sdk/*'],
    types: ['src/server/object-storage.js', 'src/core/'],
    web: true,
  },
  { folder: 'src/server', values: ['src/core/'], web: true },
  { folder: 'src/bindings/node', values: ['node:*'], types: ['src/core/'] },
  {
    folder: 'src/bindings/express',
    values: ['src/bindings/node/'],
    types: ['src/core/', 'express', 'node:*'],
  },
  { folder: 'src/bindings/koa', values: ['src/bindings/node/'], types: ['src/core/', 'koa', 'node:*'] },
  { folder: 'src/client', types: ['src/core/'], web: true },
  {
    folder: 'src/cli',
    values: ['src/index.js', 'src/adapters/', 'commander', 'node:*'],
    types: ['pg', 'mongodb'],
    loads: ['pg', 'mongodb'],
  },
  { folder: 'test/conformance', values: ['fast-check'], types: ['src/core/'] },
]

const escapeRegExp = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** The specifiers that reach `target` from a file that lies `depth` folders below `folder`, as a regular expression. */
function specifiersOf(target, folder, depth) {
  if (!target.startsWith('src/')) {
    return target.endsWith('*') ? escapeRegExp(target.slice(0, -1)) : `${escapeRegExp(target)}(?:/|$)`
  }
  const path = '../'.repeat(depth) + posix.relative(folder, target)
  return escapeRegExp(path) + (target.endsWith('/') ? '/(?!.*\\.\\./)' : '$')
}

// The import rules see only the text of a specifier, so each depth below a room has its own patterns.
const deepest = 3
function importRules({ folder, values = [], types = [] }) {
  return Array.from({ length: deepest + 1 }, (_, depth) => {
    const above = depth > 0 ? `|(?:\\.\\./){1,${depth}}` : ''
    const own = `(?:\\./${above})(?!.*\\.\\./)(?!\\.)`
    const alternatives = (targets) => targets.map((target) => specifiersOf(target, folder, depth))
    const allowed = [own, ...alternatives(values), ...alternatives(types)].join('|')
    const patterns = [
      {
        regex: `^(?!${allowed})`,
        caseSensitive: true,
        message: `${folder} may import only: ${['its own files', ...values, ...types.map((t) => `types of ${t}`)].join(', ')}.`,
      },
    ]
    if (types.length > 0) {
      patterns.push({
        regex: `^(?:${alternatives(types).join('|')})`,
        caseSensitive: true,
        allowTypeImports: true,
        message: `${folder} may import this only as a type.`,
      })
    }
    return {
      name: `rooms/${folder}/depth-${depth}`,
      files: [`${folder}/${'*/'.repeat(depth)}*.ts`],
      rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns }] },
    }
  })
}

const folders = rooms.map(({ folder }) => folder)
const webRooms = rooms.filter(({ web }) => web).map(({ folder }) => folder)

export default defineConfig(
  { ignores: ['dist/', 'coverage/', 'node_modules/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `async` without `await` is how a method of a promise interface turns its throws into rejections.
      '@typescript-eslint/require-await': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: {
      globals: {
        console: 'readonly',
        process: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        fetch: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        performance: 'readonly',
      },
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/cli/**'],
    rules: { 'no-console': ['error', { allow: ['error'] }] },
  },
  ...rooms.flatMap(importRules),
  ...rooms.map(({ folder, loads = [] }) => ({
    name: `rooms/${folder}/dynamic-imports`,
    files: [`${folder}/**/*.ts`],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: `ImportExpression:not(${['[source.value=/^[.]\\u002f(?!.*[.][.])/]', ...loads.map((name) => `[source.value="${name}"]`)].join(', ')})`,
          message:
            'A dynamic import may only load a file beside or below this one, because the import rules do not see it.',
        },
      ],
    },
  })),
  {
    // Later than the dynamic imports: the rule takes one list, and the last one counts.
    name: 'rooms/depth',
    files: folders.map((folder) => `${folder}/${'*/'.repeat(deepest + 1)}**/*.ts`),
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Program',
          message: `Rooms are at most ${deepest} folders deep: eslint.config.js checks no deeper.`,
        },
      ],
    },
  },
  {
    name: 'rooms/web-standard',
    files: webRooms.map((folder) => `${folder}/**/*.ts`),
    rules: {
      'no-restricted-globals': [
        'error',
        {
          globals: [
            'Buffer',
            'process',
            'global',
            'require',
            'module',
            'exports',
            '__dirname',
            '__filename',
            'setImmediate',
            'clearImmediate',
          ].map((name) => ({ name, message: 'Web-standard globals only.' })),
          checkGlobalObject: true,
        },
      ],
    },
  },
  prettier,
)
