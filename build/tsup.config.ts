import { defineConfig } from 'tsup'
import { writeClassicEntries } from './classic-entries.js'
import { commandBuild } from './command.js'
import { entries } from './entries.js'

// The npm script empties dist: tsup's own cleaning would delete what rolldown has written.
const clean = false

export default defineConfig([
  {
    clean,
    format: ['esm', 'cjs'],
    entry: entries,
    // tsup sets `baseUrl` by itself, which TypeScript 6 reports as deprecated.
    dts: { only: true, compilerOptions: { ignoreDeprecations: '6.0' } },
  },
  {
    ...commandBuild,
    clean,
    entry: { cli: 'src/cli/main.ts' },
    removeNodeProtocol: false,
    onSuccess: async () => writeClassicEntries(),
  },
])
