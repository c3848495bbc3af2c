import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entries } from './entries.js'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folder of every sub-path for tools that don't know `exports`. The package's own fields stand for the index. */
export const classicFolders: readonly string[] = Object.keys(entries).filter((name) => name !== 'index')

/**
 * Writes a folder for every sub-path at the root of the package, with a package.json that names the built files.
 * TypeScript with `moduleResolution: node10`, jest 26, webpack 4 and others resolve a sub-path only as a folder.
 */
export function writeClassicEntries(): void {
  removeClassicEntries()
  for (const name of classicFolders) {
    const files = {
      main: `../dist/${name}.cjs`,
      module: `../dist/${name}.js`,
      types: `../dist/${name}.d.cts`,
    }
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'package.json'), `${JSON.stringify(files, null, 2)}\n`)
  }
}

/** Removes the folders of an earlier build too: a former entry must not stay. Only they hold just a package.json. */
function removeClassicEntries(): void {
  const folders = readdirSync(root, { withFileTypes: true }).filter((file) => file.isDirectory())
  for (const { name } of folders) {
    if (readdirSync(join(root, name)).join() === 'package.json') rmSync(join(root, name), { recursive: true })
  }
}
