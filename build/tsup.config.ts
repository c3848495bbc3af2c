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
    // From declarations that TypeScript 7 has written, because tsup's own compiler takes ten times as long for them.
    entry: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [
        name,
        `dist/declarations/${file.replace(/\.ts$/, '.d.ts')}`,
      ]),
    ),
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
