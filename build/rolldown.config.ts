import { defineConfig, type OutputOptions, type RolldownOptions } from 'rolldown'
import { entries } from './entries.js'

const { client, uploads, conformance, ...others } = entries

const output: OutputOptions = {
  dir: 'dist',
  exports: 'named',
  sourcemap: true,
  // A single `…` lets V8 keep the whole file in two bytes per character, which takes longer to read and to compile.
  charset: 'ascii',
  // Bundlers read the annotations. Documentation is in the declarations.
  comments: { annotation: true, legal: true, jsdoc: false },
}

const library: RolldownOptions = {
  platform: 'neutral',
  external: /^[^./]/,
  transform: { target: 'node20' },
  // As `sideEffects` in package.json says.
  treeshake: { moduleSideEffects: false },
}

const formats = (more: OutputOptions = {}): OutputOptions[] => [
  {
    ...output,
    ...more,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  },
  {
    ...output,
    ...more,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    // Jest 26 knows built-in modules without `node:` only.
    paths: (name) => name.replace(/^node:/, ''),
  },
]

export default defineConfig([
  {
    ...library,
    input: others,
    output: formats({
      codeSplitting: {
        // Opening a file takes a start longer than parsing code that it doesn't need, so shared code is in few files.
        // Not that of the bindings: what some of them share imports Node's modules, which not every runtime has.
        groups: [
          { name: 'core', test: /[\\/]src[\\/]core[\\/]/, minShareCount: 2 },
          { name: 'storage', test: /[\\/]src[\\/]storage[\\/]/, minShareCount: 2 },
        ],
      },
    }),
  },
  // Shares no code with other entries, and applications load it for tests only.
  { ...library, input: { conformance }, output: formats() },
  // Applications bundle the client, often with tools that parse nothing newer, such as webpack 4. What the code for uploads needs
  // of the rest is in one file with all of it, so that a page loads one chunk at its start.
  {
    ...library,
    input: { client, uploads },
    output: formats({
      codeSplitting: { groups: [{ name: 'client-core', test: /[\\/]src[\\/]client[\\/](?!index|upload)/ }] },
    }),
    transform: { target: 'es2019' },
  },
])
