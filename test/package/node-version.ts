import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findServer, type ServerKind } from '../servers/found-server.js'
import { runProgram } from './packed-package.js'

/** The major versions of Node that the package supports. */
export const supportedMajors = [20, 22, 24, 26] as const

/**
 * Returns the path of a Node executable of this major version, or the reason why there is none. Tries the path in
 * `TEST_NODE_<major>`, then the Node that runs the tests, then the build for this platform from npm.
 */
export async function findNode(major: number, into: string): Promise<string | { readonly reason: string }> {
  const found = await findServer(nodeKind(major, into))
  return 'url' in found ? found.url : found
}

function nodeKind(major: number, into: string): ServerKind {
  return {
    name: `node${major}`,
    variable: `TEST_NODE_${major}`,
    howToGet: `connect npm to a registry that has Node for ${process.platform}-${process.arch}`,
    ways: [
      async () => (majorOf(process.execPath) === major ? foundAt(process.execPath) : null),
      async () => foundAt(await installNode(major, into)),
    ],
  }
}

const foundAt = (path: string) => ({ url: path, from: path, stop: async () => {} })

async function installNode(major: number, into: string): Promise<string> {
  const folder = join(into, `node-${major}`)
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }))
  const args = [
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    `${name}@${major}`,
  ]
  const { exitCode, output } = await runProgram(folder, 'npm', ...args)
  if (exitCode !== 0) throw new Error(`npm could not install ${name}@${major}: ${output.slice(0, 500)}`)
  const path = join(folder, 'node_modules', name, 'bin', 'node')
  if (majorOf(path) !== major) throw new Error(`${path} is not Node ${major}`)
  return path
}

function majorOf(path: string): number {
  return Number(execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0])
}
