import { defineConfig } from 'tsup'
import { entries } from './entries.js'

export default defineConfig({
  entry: entries,
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'neutral',
  // Without shared chunks every CJS entry gets its own copy of the error class, and instanceof fails between entries.
  splitting: true,
  sourcemap: true,
  // The npm script empties dist: tsup's own cleaning can delete declarations that are already written.
  clean: false,
  removeNodeProtocol: false,
  external: [/^node:/],
  // tsup sets `baseUrl` by itself, which TypeScript 6 reports as deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
})
