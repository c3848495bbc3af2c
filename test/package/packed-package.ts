import { execFile } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { classicFolders } from '../../build/classic-entries.js'
import { entries } from '../../build/entries.js'

export const repository = fileURLToPath(new URL('../..', import.meta.url))
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url))

/** The output of `npm pack`. */
export interface Tarball {
  readonly file: string
  /** Paths relative to the root of the package. */
  readonly contents: readonly string[]
}

export interface ProgramResult {
  readonly exitCode: number
  /** stdout, followed by stderr if the exit code is not 0. */
  readonly output: string
}

/** Runs a program until it exits. Rejects if it can't start or is killed. */
export async function runProgram(folder: string, command: string, ...args: string[]): Promise<ProgramResult> {
  return runProgramWith({}, folder, command, ...args)
}

/** Runs a program with additional environment variables. */
export async function runProgramWith(
  variables: Readonly<Record<string, string>>,
  folder: string,
  command: string,
  ...args: string[]
): Promise<ProgramResult> {
  // These variables configure the workers of the test runner and would change how the program runs.
  const cleared = { NODE_OPTIONS: '', NODE_V8_COVERAGE: '', NODE_ENV: '', TEST_LONG: '' }
  const env = { ...process.env, ...cleared, ...variables }
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env, maxBuffer: 2 ** 26 })
    return { exitCode: 0, output: stdout }
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string }
    if (typeof code !== 'number') throw error
    return { exitCode: code, output: stdout + stderr }
  }
}

async function npm(folder: string, ...args: string[]): Promise<string> {
  const { exitCode, output } = await runProgram(folder, 'npm', ...args)
  if (exitCode !== 0) throw new Error(`npm ${args[0]} failed:\n${output}`)
  return output
}

/** Builds the package if a file is missing in `dist` or older than a source. */
export async function buildIfOutdated(): Promise<void> {
  if (isOutdated()) await npm(repository, 'run', 'build')
}

/** Packs the built package with `npm pack`. */
export async function packPackage(into: string): Promise<Tarball> {
  const json = await npm(repository, 'pack', '--json', '--ignore-scripts', '--pack-destination', into)
  const [packed] = JSON.parse(json) as [{ filename: string; files: { path: string }[] }]
  return { file: join(into, packed.filename), contents: packed.files.map(({ path }) => path) }
}

/** The four files of every entry: an ES module and a CommonJS module, each with its types. */
export const builtEntries: readonly string[] = Object.keys(entries).flatMap((name) =>
  ['js', 'cjs', 'd.ts', 'd.cts'].map((extension) => `dist/${name}.${extension}`),
)

/** Every file that the build must have written: the entries and the command. */
const builtFiles = [...builtEntries, 'dist/cli.js']

function isOutdated(): boolean {
  const classic = classicFolders.map((name) => join(name, 'package.json'))
  const built = [...builtFiles, ...classic].map((path) => join(repository, path))
  if (!built.every((path) => existsSync(path))) return true
  const oldest = Math.min(...built.map((path) => statSync(path).mtimeMs))
  return sourceFiles().some((path) => statSync(path).mtimeMs > oldest)
}

function sourceFiles(): string[] {
  const folders = ['src', 'test/conformance', 'test/broken-stores'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path),
    ),
  )
  const settings = [
    'build/entries.ts',
    'build/classic-entries.ts',
    'build/command.ts',
    'build/rolldown.config.ts',
    'build/tsup.config.ts',
    'tsconfig.json',
  ]
  return [...folders, ...settings].map((path) => join(repository, path))
}

/** Creates an application with the tarball as its only package, and copies the fixtures into it. */
export async function installInto(folder: string, { file }: Tarball): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  await npm(folder, 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', file)
  cpSync(fixtures, folder, { recursive: true })
}

/**
 * Links packages from `node_modules` of this repository, or of another folder, into the application. They bring their
 * dependencies.
 */
export function linkPackages(folder: string, names: readonly string[], from = repository): void {
  for (const name of names) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(from, 'node_modules', name), link, 'dir')
  }
}

/**
 * Type-checks a file of the application with strict settings, including the declarations of its packages by default.
 * `nodenext` checks it both as an ES module and as a CommonJS module.
 */
export async function compile(
  folder: string,
  file: string,
  options: {
    readonly moduleResolution: 'nodenext' | 'bundler'
    readonly types: readonly string[]
    /** Set it for packages whose declarations don't compile. */
    readonly skipLibCheck?: boolean
  },
): Promise<ProgramResult> {
  const { moduleResolution } = options
  const bothKinds = [file.replace(/ts$/, 'mts'), file.replace(/ts$/, 'cts')]
  const files = moduleResolution === 'nodenext' ? bothKinds : [file]
  for (const copy of bothKinds) copyFileSync(join(folder, file), join(folder, copy))

  const config = join(folder, `tsconfig.${moduleResolution}.json`)
  const compilerOptions = {
    skipLibCheck: false,
    ...options,
    module: moduleResolution === 'nodenext' ? 'nodenext' : 'esnext',
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  }
  writeFileSync(config, JSON.stringify({ compilerOptions, files }))
  const compiler = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  return runProgram(folder, process.execPath, compiler, '-p', config)
}
