import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import * as esbuild from 'esbuild'
import ts from 'typescript'
import { entries } from '../../../build/entries.js'
import { readDocuments, repository } from './documents.js'

/** A code block of a document that is a program. */
export interface Snippet {
  /** `README.md:12`, where its code begins. */
  readonly place: string
  /** Its document and the file that its first line names, such as `README.md#app.ts`; `null` where it names none. */
  readonly id: string | null
  /** The file it was written to, and the one to run. */
  readonly source: string
  readonly program: string
}

/** A folder for snippets: ignored by git, and below the dependencies, so that they are found from there. */
export function openWorkshop(): string {
  const cache = join(repository, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  return mkdtempSync(join(cache, 'svc-db-documents-'))
}

export function closeWorkshop(workshop: string): void {
  rmSync(workshop, { recursive: true, force: true })
}

/** Writes every `ts` and `js` block into a file of the name that its first line says; those of a document lie together. */
export function writeSnippets(workshop: string): Snippet[] {
  return readDocuments().flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language }) => language === 'ts' || language === 'js')
      .map(({ code, line }): Snippet => {
        const [, name] = /^\/\/ ([\w.-]+\.(?:ts|js))\n/.exec(code) ?? []
        const file = join(path.replace(/\.md$/, ''), name ?? `line-${line}.ts`)
        const source = join(workshop, 'source', file)
        mkdirSync(dirname(source), { recursive: true })
        // A module also without import and export, so that its names are its own.
        writeFileSync(source, `${code}\nexport {}\n`)
        const program = join(workshop, 'program', file.replace(/\.(?:ts|js)$/, '.mjs'))
        return { place: `${path}:${line}`, id: name ? `${path}#${name}` : null, source, program }
      }),
  )
}

/** What the compiler says against the snippets, under the options of the repository; empty where all is well. */
export function typeErrors(workshop: string, snippets: readonly Snippet[]): string[] {
  const configFile = join(repository, 'tsconfig.json')
  const { config } = ts.readConfigFile(configFile, (path) => ts.sys.readFile(path)) as { config: object }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository, {}, configFile)
  const files = snippets.map(({ source }) => source)
  const program = ts.createProgram(files, { ...options, allowJs: true, checkJs: true })
  return files
    .flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
    .concat(program.getGlobalDiagnostics())
    .map(({ file, start, messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, '\n')
      if (!file || start === undefined) return text
      const { line } = file.getLineAndCharacterOfPosition(start)
      return `${relative(workshop, file.fileName)}:${line + 1}: ${text}`
    })
}

/** Bundles each snippet as a program that runs in Node: over the source of the library, and the installed dependencies. */
export async function buildPrograms(workshop: string, snippets: readonly Snippet[]): Promise<void> {
  await esbuild.build({
    entryPoints: snippets.map(({ source }) => source),
    outbase: join(workshop, 'source'),
    outdir: join(workshop, 'program'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Snippets that import each other meet the same modules, as the files of an application do.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [ownSource],
    logLevel: 'silent',
  })
}

const ownSource: esbuild.Plugin = {
  name: 'own-source',
  setup(build) {
    const sources = new Map(
      Object.entries(entries).map(([name, file]) => [name === 'index' ? '@svc/db' : `@svc/db/${name}`, file]),
    )
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      if (kind === 'entry-point') return undefined
      const file = sources.get(path)
      return file ? { path: join(repository, file) } : { path, external: true }
    })
  },
}
