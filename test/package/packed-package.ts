import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'
import { entries } from '../../build/entries.js'
import { npm, repository, runProgram, type ProgramResult } from './programs.js'

/** The specifiers of all entries, such as `@svc/db/memory`. */
export const specifiers = Object.keys(entries).map((name) =>
  name === 'index' ? '@svc/db' : `@svc/db/${name}`,
)

/** Creates a folder for the tests of a file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-package-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Tarball {
  readonly file: string
  /** Paths relative to the root of the package. */
  readonly contents: readonly string[]
}

/** Packs the built package with `npm pack`. */
export async function packPackage(into: string): Promise<Tarball> {
  const json = await npm(repository, 'pack', '--json', '--ignore-scripts', '--pack-destination', into)
  const [packed] = JSON.parse(json) as [{ filename: string; files: { path: string }[] }]
  return { file: join(into, packed.filename), contents: packed.files.map(({ path }) => path) }
}

/** Creates an application with the tarball as its only package, and with the files of `applications/<name>`. */
export async function createApplication(folder: string, name: string): Promise<Tarball> {
  cpSync(fileURLToPath(new URL(`applications/${name}`, import.meta.url)), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  const tarball = await packPackage(folder)
  await npm(folder, 'install', '--offline', '--ignore-scripts', tarball.file)
  return tarball
}

type Loaded = Record<string, Record<'esm' | 'cjs', { names?: string[]; code?: string; message?: string }>>

/** Loads specifiers as ESM and as CommonJS in the application `entries`. Returns the exported names, or the errors. */
export async function loadEntries(
  run: (...args: string[]) => Promise<ProgramResult>,
  names: readonly string[] = specifiers,
): Promise<Loaded> {
  const { exitCode, output } = await run('load-entries.mjs', ...names)
  expect(exitCode, output).toBe(0)
  return JSON.parse(output) as Loaded
}

/** Links packages of this repository, or of another folder, into the application. They bring their dependencies. */
export function linkPackages(folder: string, names: readonly string[], from = repository): void {
  for (const name of names) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(from, 'node_modules', name), link, 'dir')
  }
}

/** Compiles files of an application, and returns the folder with the result and the errors in it and in the library. */
export async function compile(
  application: string,
  files: readonly string[],
  options: Readonly<Record<string, unknown>>,
  typescriptOf = repository,
  compilerName = 'typescript',
): Promise<{ readonly outDir: string; readonly errors: readonly string[] }> {
  const outDir = mkdtempSync(join(application, 'out-'))
  const strict = { strict: true, exactOptionalPropertyTypes: true, esModuleInterop: true }
  const compilerOptions = { ...strict, ...options, rootDir: application, outDir }
  const config = join(outDir, 'tsconfig.json')
  const paths = files.map((file) => join(application, file))
  writeFileSync(config, JSON.stringify({ compilerOptions, files: paths }))
  const compiler = join(typescriptOf, 'node_modules', compilerName, 'bin', 'tsc')
  const { output } = await runProgram(application, process.execPath, compiler, '-p', config)
  // Linked packages are outside of the application, and their declarations contradict each other.
  const errors = output.split('\n').filter((line) => line !== '' && !line.startsWith('../'))
  return { outDir, errors }
}
