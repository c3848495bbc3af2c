import { resolve, sep } from 'node:path'
import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import prettier from 'eslint-config-prettier'
import regexp from 'eslint-plugin-regexp'
import ts from 'typescript'
import tseslint from 'typescript-eslint'

/** What runs in browsers and worker runtimes too. `.dependency-cruiser.mjs` says which folder may import which. */
const webStandard = [
  'src/core',
  'src/adapters/memory',
  'src/storage/headers.ts',
  'src/storage/local',
  'src/storage/memory',
  'src/storage/s3',
  'src/server',
  'src/client',
]

const computedPattern = {
  selector:
    ':matches(NewExpression, CallExpression)[callee.name="RegExp"] > TemplateLiteral[expressions.length>0]',
  message: 'Write the pattern as a literal, so that the rules for patterns can check it.',
}

const builtIns =
  'AbortSignal|Blob|Buffer|Date|DOMException|File|FormData|Headers|Map|Promise|ReadableStream|RegExp|Request|Response|Set|URL|ArrayBuffer|\\w+Array|(Aggregate|Range|Reference|Syntax|Type)?Error'
const instanceofBuiltIn = {
  selector: `BinaryExpression[operator="instanceof"][right.name=/^(${builtIns})$/]`,
  message: 'The value may be of another realm: use core/realms.ts, or check what the value does.',
}

/**
 * Where rules get their types from. A command line names files or folders: a program of these and what they import takes half
 * the processor time of the service for editors. A fix changes files, which a program doesn't follow.
 */
function typeInformation() {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} }
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
    resolve(import.meta.dirname, 'tsconfig.json'),
    {},
    host,
  )
  const named = process.argv.slice(2).map((argument) => resolve(argument))
  const isNamed = (file) => named.some((path) => file === path || file.startsWith(path + sep))
  const files = fileNames.filter(isNamed)
  if (files.length === 0 || process.argv.includes('--fix')) return { projectService: true }
  const declarations = fileNames.filter((file) => file.endsWith('.d.ts'))
  return { programs: [ts.createProgram([...files, ...declarations], options)] }
}

export default defineConfig(
  // The application in TypeScript has other packages than this repository.
  {
    ignores: [
      'dist/',
      'coverage/',
      'node_modules/',
      'site/.vitepress/.temp/',
      'site/dist/',
      'test/package/applications/typescript/',
      '**/front-ends/app/',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { ...typeInformation(), tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      // An interface gives a computed type a name, which messages of the compiler show.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
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
        AbortController: 'readonly',
        Response: 'readonly',
      },
    },
  },
  {
    files: ['bench/client/*.mjs'],
    languageOptions: {
      globals: {
        window: 'readonly',
        document: 'readonly',
        XMLHttpRequest: 'readonly',
        Blob: 'readonly',
        File: 'readonly',
        PerformanceObserver: 'readonly',
      },
    },
  },
  {
    // Applications that are installed with the package, among them some from before ES modules.
    files: ['**/*.cjs', 'test/package/applications/**/*.{js,mjs}'],
    languageOptions: {
      globals: { Request: 'readonly', File: 'readonly', location: 'readonly' },
    },
  },
  {
    files: ['**/*.cjs', 'test/package/applications/runners/*.js', '**/next.config.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: {
        console: 'readonly',
        process: 'readonly',
        __dirname: 'readonly',
        structuredClone: 'readonly',
        describe: 'readonly',
        it: 'readonly',
      },
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/cli/**'],
    rules: { 'no-console': ['error', { allow: ['error'] }] },
  },
  {
    // Much of what a server matches comes from clients. A pattern must not take more than linear time on any of it.
    name: 'linear-patterns',
    files: ['src/**/*.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': [
        'error',
        { report: 'potential', ignoreSticky: true, ignorePartial: false },
      ],
      'no-restricted-syntax': ['error', computedPattern],
    },
  },
  {
    // Jest runs tests in realms of their own, and simulated DOMs replace classes. The command is a process of its own.
    name: 'values-of-other-realms',
    files: ['src/**/*.ts', 'test/conformance/**/*.ts'],
    ignores: ['src/cli/**'],
    rules: { 'no-restricted-syntax': ['error', computedPattern, instanceofBuiltIn] },
  },
  {
    name: 'web-standard-globals',
    files: webStandard.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.ts`)),
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
