import { readFile, writeFile } from 'node:fs/promises'
import { basename, isAbsolute } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { commandBuild } from './command.js'
import { entries } from './entries.js'

type Plugin = NonNullable<Options['plugins']>[number]

/** The CommonJS step names files by where they were built, which is nobody's business and differs from machine to machine. */
const relativeSourceMaps: Plugin = {
  name: 'relative-source-maps',
  async buildEnd({ writtenFiles }) {
    for (const { name } of writtenFiles.filter(({ name }) => name.endsWith('.map'))) {
      const map = JSON.parse(await readFile(name, 'utf8')) as { file?: string; sources: string[] }
      if (map.file) map.file = basename(map.file)
      map.sources = map.sources.map((source) => (isAbsolute(source) ? basename(source) : source))
      await writeFile(name, JSON.stringify(map))
    }
  },
}

const library: Options = {
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
  plugins: [relativeSourceMaps],
  // tsup sets `baseUrl` by itself, which TypeScript 6 reports as deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
}

export default defineConfig([
  library,
  { ...commandBuild, entry: { cli: 'src/cli/main.ts' }, removeNodeProtocol: false },
])
