import { readFile, writeFile } from 'node:fs/promises'
import { basename, isAbsolute } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { writeClassicEntries } from './classic-entries.js'
import { commandBuild } from './command.js'
import { entries } from './entries.js'

type Plugin = NonNullable<Options['plugins']>[number]
type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number]

/** The CommonJS step names files by the folder they were built in, which differs from machine to machine. */
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

/** Keeps built-in modules out of the bundle. CommonJS names them without `node:`, which jest 26 doesn't know. */
const builtInModules: EsbuildPlugin = {
  name: 'built-in-modules',
  setup(build) {
    const isCommonJs = build.initialOptions.outExtension?.['.js'] === '.cjs'
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({
      path: isCommonJs ? path.replace('node:', '') : path,
      external: true,
    }))
  },
}

const { client, conformance, ...others } = entries

const library: Options = {
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'neutral',
  // Without shared chunks every CJS entry gets its own copy of the error class, and instanceof fails between entries.
  splitting: true,
  sourcemap: true,
  // The npm script empties dist: tsup's own cleaning can delete declarations that are already written.
  clean: false,
  removeNodeProtocol: false,
  esbuildPlugins: [builtInModules],
  plugins: [relativeSourceMaps],
}

export default defineConfig([
  {
    ...library,
    entry: others,
    // tsup sets `baseUrl` by itself, which TypeScript 6 reports as deprecated.
    dts: { entry: entries, compilerOptions: { ignoreDeprecations: '6.0' } },
    onSuccess: async () => writeClassicEntries(),
  },
  // Shares no code with other entries. Built with them, its runtime of the bundler becomes a file that all of them import.
  { ...library, entry: { conformance } },
  // Applications bundle the client, often with tools that parse nothing newer, such as webpack 4.
  { ...library, entry: { client }, target: 'es2019' },
  { ...commandBuild, entry: { cli: 'src/cli/main.ts' }, removeNodeProtocol: false },
])
