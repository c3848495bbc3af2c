import { readFileSync } from 'node:fs'

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
const { version } = JSON.parse(read('../package.json')) as { version: string }

// Its licence wants to be told wherever it is copied.
const licence = read('../node_modules/commander/LICENSE').trim().replaceAll('*/', '* /')

/**
 * How the svc-db command is made: one file that needs nothing but Node, and the driver of the database or the bucket
 * where one is used.
 * The parser of its arguments is inside, so that no application installs it. For tsup and for the tests, which take
 * esbuild's options alike.
 */
export const commandBuild = {
  bundle: true,
  format: 'esm' as const,
  platform: 'node' as const,
  target: 'node20',
  splitting: false,
  external: ['pg', 'mongodb', 'better-sqlite3', '@aws-sdk/*'],
  define: { SVC_DB_VERSION: JSON.stringify(version) },
  banner: {
    // The parser is a CommonJS module, which asks for Node's modules by `require`.
    js: [
      '#!/usr/bin/env node',
      `/* With commander, under this licence:\n\n${licence}\n*/`,
      "import { createRequire as createRequireOfNode } from 'node:module'",
      'const require = createRequireOfNode(import.meta.url)',
    ].join('\n'),
  },
}
