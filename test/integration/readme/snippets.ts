import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as esbuild from 'esbuild'
import { entries } from '../../../build/entries.js'
import { quotedExample, readDocuments, repository } from './documents.js'

/** A `ts` or `js` code block of a document. */
export interface Snippet {
  /** The first line of its code, such as `README.md:12`. */
  readonly location: string
  /** Its document and the file name on its first line, such as `README.md#server.ts`; `null` without a file name. */
  readonly id: string | null
  /** The file with its code, and the bundle to run. */
  readonly source: string
  readonly program: string
}

/** Creates a folder for the snippets, below `node_modules`: git ignores it, and dependencies resolve from there. */
export function openWorkspace(): string {
  const cache = join(repository, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  return mkdtempSync(join(cache, 'svc-db-documents-'))
}

export function closeWorkspace(workspace: string): void {
  rmSync(workspace, { recursive: true, force: true })
}

/** Writes every `ts` and `js` block to the file that its first line names, in one folder per document. Leaves out quoted examples. */
export function writeSnippets(workspace: string): Snippet[] {
  return readDocuments().flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language }) => language === 'ts' || language === 'js')
      .filter((block) => quotedExample(block) === null)
      .map(({ code, line }): Snippet => {
        const [, name] = /^\/\/ ([\w.-]+\.(?:ts|m?js))\n/.exec(code) ?? []
        const file = join(path.replace(/\.md$/, ''), name ?? `line-${line}.ts`)
        const source = join(workspace, 'source', file)
        mkdirSync(dirname(source), { recursive: true })
        // Makes it a module even without imports, so its names don't clash with those of other snippets.
        writeFileSync(source, `${code}\nexport {}\n`)
        const program = join(workspace, 'program', file.replace(/\.(?:ts|m?js)$/, '.mjs'))
        return { location: `${path}:${line}`, id: name ? `${path}#${name}` : null, source, program }
      }),
  )
}

/** Returns what the compiler prints about these files, under the options of the repository. */
export function typeErrors(workspace: string, files: readonly string[]): string[] {
  const project = join(workspace, 'tsconfig.json')
  // The types of Node.js 20 lack `node:sqlite`.
  const ambient = join(repository, 'test/types/node-sqlite.d.ts')
  const options = { allowJs: true, checkJs: true }
  const extended = join(repository, 'tsconfig.json')
  writeFileSync(
    project,
    JSON.stringify({ extends: extended, compilerOptions: options, include: [], files: [...files, ambient] }),
  )
  const compiler = join(repository, 'node_modules/typescript7/bin/tsc')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [compiler, '-p', project, '--pretty', 'false', '--singleThreaded'],
    { cwd: workspace, encoding: 'utf8' },
  )
  if (status === 0) return []
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

/** Bundles each snippet into a program for Node.js, with the library's source and the installed dependencies. */
export async function buildPrograms(workspace: string, snippets: readonly Snippet[]): Promise<void> {
  await esbuild.build({
    entryPoints: snippets.map(({ source }) => source),
    outbase: join(workspace, 'source'),
    outdir: join(workspace, 'program'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Snippets that import each other share module instances, like the files of an application.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [librarySource],
    logLevel: 'silent',
  })
}

const librarySource: esbuild.Plugin = {
  name: 'library-source',
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
