import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { classicFolders } from '../../build/classic-entries.js'
import { entries } from '../../build/entries.js'
import { npm, repository } from './programs.js'

/** Builds the package once, before the tests start: parallel builds would write the same files. */
export default async function buildIfOutdated(): Promise<void> {
  if (isOutdated()) await npm(repository, 'run', 'build')
}

/** Returns whether a file of the build is missing, or older than a source. */
function isOutdated(): boolean {
  const files = [
    'dist/cli.js',
    ...classicFolders.map((name) => `${name}/package.json`),
    ...Object.keys(entries).flatMap((name) =>
      ['js', 'cjs', 'd.ts', 'd.cts'].map((extension) => `dist/${name}.${extension}`),
    ),
  ].map((path) => join(repository, path))
  if (!files.every((path) => existsSync(path))) return true
  const oldest = Math.min(...files.map((path) => statSync(path).mtimeMs))
  return sourceFiles().some((path) => statSync(path).mtimeMs > oldest)
}

function sourceFiles(): string[] {
  const folders = ['src', 'build', 'test/conformance', 'test/broken-stores'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path),
    ),
  )
  return [...folders, 'tsconfig.json'].map((path) => join(repository, path))
}
